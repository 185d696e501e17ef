package io.jrun.agent.image.pull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;

/**
 * An archive of {@code docker save} without an OCI layout. The layers are not compressed, so the config contains the
 * digests of the layers. Source: Docker's image specification, v1.2.
 */
final class DockerArchiveSource implements ImageSource {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long MAX_CONFIG = 4 << 20;

    private final String image;
    private final StoredFiles files;
    private final Map<String, String> names = new HashMap<>();
    private final byte[] manifest;

    DockerArchiveSource(String image, StoredFiles files, String tag) throws ContainerException, IOException {
        this.image = image;
        this.files = files;
        this.manifest = manifest(choose(ImageManifest.parse(files.read("manifest.json", MAX_CONFIG), image), tag));
    }

    private JsonNode choose(JsonNode images, String tag) throws ContainerException {
        for (JsonNode each : images) {
            boolean tagged = false;
            for (JsonNode name : each.path("RepoTags")) {
                tagged |= name.asText().endsWith(":" + tag);
            }
            if (tagged || (tag.isEmpty() && images.size() == 1)) {
                return each;
            }
        }
        throw new ContainerException("the image " + image + " is one of " + images.size()
                + " in its archive; name one image as ARCHIVE:TAG");
    }

    private byte[] manifest(JsonNode described) throws ContainerException, IOException {
        String configName = described.path("Config").asText();
        byte[] config = files.read(configName, MAX_CONFIG);
        ObjectNode made = JSON.createObjectNode().put("schemaVersion", 2);
        made.set(
                "config",
                descriptor("application/vnd.oci.image.config.v1+json", Sha256Stream.digest(config), configName));
        ArrayNode layers = made.putArray("layers");
        JsonNode digests = ImageManifest.parse(config, image).path("rootfs").path("diff_ids");
        if (digests.size() != described.path("Layers").size()) {
            throw ImageManifest.damaged(image, "the config and the manifest have different numbers of layers");
        }
        for (int i = 0; i < digests.size(); i++) {
            layers.add(descriptor(
                    "application/vnd.oci.image.layer.v1.tar",
                    digests.get(i).asText(),
                    described.path("Layers").get(i).asText()));
        }
        return JSON.writeValueAsBytes(made);
    }

    private ObjectNode descriptor(String type, String digest, String name) throws ContainerException, IOException {
        names.put(digest, name);
        return JSON.createObjectNode()
                .put("mediaType", type)
                .put("digest", digest)
                .put("size", files.size(name));
    }

    @Override
    public String image() {
        return image;
    }

    @Override
    public byte[] manifest() {
        return manifest.clone();
    }

    @Override
    public byte[] manifest(Blob descriptor) throws ContainerException {
        throw ImageManifest.damaged(image, "the archive has no index");
    }

    @Override
    public InputStream open(Blob blob) throws ContainerException, IOException {
        return files.open(names.getOrDefault(blob.digest(), blob.digest()));
    }

    @Override
    public void close() throws IOException {
        files.close();
    }
}
