package io.jrun.agent.image.pull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.io.InputStream;

/**
 * An OCI layout: a folder, or a tar archive of the folder. Source: the OCI image specification, v1.1, image-layout.md.
 *
 * @param tag the tag of the chosen manifest; empty if the layout has one manifest
 */
record LayoutSource(String image, StoredFiles files, String tag) implements ImageSource {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String NAME = "org.opencontainers.image.ref.name";
    private static final long MAX_MANIFEST = 4 << 20;

    @Override
    public byte[] manifest() throws ContainerException, IOException {
        JsonNode index = ImageManifest.parse(files.read("index.json", MAX_MANIFEST), image);
        ArrayNode named = JSON.createArrayNode();
        for (JsonNode each : index.path("manifests")) {
            String name = each.path("annotations").path(NAME).asText();
            if (tag.isEmpty() || name.equals(tag) || name.endsWith(":" + tag)) {
                named.add(each);
            }
        }
        if (named.isEmpty()) {
            throw new ContainerException("the image " + image + ": the layout has no manifest"
                    + (tag.isEmpty() ? "" : " with the tag '" + tag + "'") + "; list the tags with 'skopeo inspect'");
        }
        if (named.size() == 1) {
            return manifest(Blob.of(named.get(0), image));
        }
        ObjectNode several = JSON.createObjectNode();
        several.set("manifests", named);
        return JSON.writeValueAsBytes(several);
    }

    @Override
    public byte[] manifest(Blob descriptor) throws ContainerException, IOException {
        byte[] manifest = files.read(name(descriptor), MAX_MANIFEST);
        String digest = Sha256Stream.digest(manifest);
        if (!digest.equals(descriptor.digest())) {
            throw ImageManifest.damaged(
                    image, "the content of the manifest " + descriptor.digest() + " has the digest " + digest);
        }
        return manifest;
    }

    private static String name(Blob blob) {
        return "blobs/sha256/" + blob.hex();
    }

    @Override
    public InputStream open(Blob blob) throws ContainerException, IOException {
        long size = files.size(name(blob));
        if (size != blob.size()) {
            throw ImageManifest.damaged(
                    image, "the layer " + blob.digest() + " has " + size + " bytes instead of " + blob.size());
        }
        return files.open(name(blob));
    }

    @Override
    public void close() throws IOException {
        files.close();
    }
}
