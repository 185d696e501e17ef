package io.jrun.agent.image.pull;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The files of an image for this platform. Sources: the OCI image specification, v1.1, and Docker's image manifest,
 * version 2, schema 2.
 *
 * @param digest the digest of the manifest
 * @param layers the layers, the lowest first
 */
record ImageManifest(String digest, Blob config, List<Blob> layers) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> INDEXES = Set.of(
            "application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json");
    private static final Set<String> MANIFESTS = Set.of(
            "application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json");

    /** The limit of nested indexes. An index may hold an index; deeper nesting is an error. */
    private static final int MAX_INDEXES = 3;

    ImageManifest {
        layers = List.copyOf(layers);
    }

    /** The stored bytes of all layers. */
    long bytes() {
        return layers.stream().mapToLong(Blob::size).sum();
    }

    /** Reads the manifest of this platform. */
    static ImageManifest read(ImageSource source) throws ContainerException, IOException {
        byte[] text = source.manifest();
        for (int turn = 0; turn < MAX_INDEXES; turn++) {
            JsonNode json = parse(text, source.image());
            if (!json.has("manifests")) {
                return of(json, Sha256Stream.digest(text), source.image());
            }
            checkType(json, INDEXES, source.image());
            Blob chosen = choose(json.get("manifests"), source.image());
            text = source.manifest(chosen);
            if (!Sha256Stream.digest(text).equals(chosen.digest())) {
                throw damaged(source.image(), "the manifest " + chosen.digest() + " has another digest");
            }
        }
        throw damaged(source.image(), "the index holds indexes of indexes");
    }

    static JsonNode parse(byte[] text, String image) throws ContainerException, IOException {
        try {
            JsonNode json = JSON.readTree(text);
            if (!json.isObject() && !json.isArray()) {
                throw damaged(image, "the manifest is not a JSON object");
            }
            return json;
        } catch (JsonProcessingException e) {
            throw new ContainerException("the image " + image + " is damaged: the manifest is not JSON", e);
        }
    }

    private static ImageManifest of(JsonNode json, String digest, String image) throws ContainerException {
        checkType(json, MANIFESTS, image);
        if (json.path("schemaVersion").asInt() != 2 || !json.path("layers").isArray()) {
            throw new ContainerException("the image " + image + " has a manifest of schema "
                    + json.path("schemaVersion").asText("?")
                    + ", which jrun does not read; push the image again with a newer tool");
        }
        List<Blob> layers = new ArrayList<>();
        for (JsonNode layer : json.get("layers")) {
            Blob blob = Blob.of(layer, image);
            checkLayer(blob.mediaType(), image);
            layers.add(blob);
        }
        return new ImageManifest(digest, Blob.of(json.path("config"), image), layers);
    }

    private static void checkType(JsonNode json, Set<String> known, String image) throws ContainerException {
        String type = json.path("mediaType").asText();
        if (!type.isEmpty() && !known.contains(type)) {
            throw unsupported(image, type);
        }
    }

    /** Checks that a layer is an archive. The first bytes of a layer show its compression. */
    private static void checkLayer(String type, String image) throws ContainerException {
        boolean archive = type.contains("tar") && (type.contains(".image.layer.") || type.contains(".image.rootfs."));
        if (!archive || type.contains("encrypted") || type.contains("foreign")) {
            throw unsupported(image, type);
        }
    }

    private static ContainerException unsupported(String image, String type) {
        return new ContainerException("the image " + image + " has the media type '" + type
                + "', which jrun does not read; jrun reads images of Docker and OCI with layers in tar, gzip and zstd");
    }

    private static Blob choose(JsonNode manifests, String image) throws ContainerException {
        Set<String> platforms = new TreeSet<>();
        JsonNode only = null;
        int unnamed = 0;
        for (JsonNode each : manifests) {
            String name = platform(each);
            if (name.equals(nodePlatform())) {
                return Blob.of(each, image);
            }
            if (name.isEmpty()) {
                only = each;
                unnamed++;
            } else if (!name.startsWith("unknown/")) { // The index lists attestations with this name.
                platforms.add(name);
            }
        }
        if (only != null && unnamed == 1) {
            return Blob.of(only, image);
        }
        if (unnamed > 1) {
            throw new ContainerException(
                    "the image " + image + " is one of " + unnamed + " in its layout; name one image as LAYOUT:TAG");
        }
        throw new ContainerException("the image " + image + " is not made for " + nodePlatform() + ", only for "
                + (platforms.isEmpty() ? "no platform" : String.join(", ", platforms)));
    }

    private static String platform(JsonNode manifest) {
        JsonNode platform = manifest.path("platform");
        return platform.isObject()
                ? platform.path("os").asText() + "/"
                        + platform.path("architecture").asText()
                : "";
    }

    /**
     * Checks that an image without an index is made for this platform.
     *
     * @param config the image's config; a config without a platform is accepted
     */
    static String checkPlatform(JsonNode config, String image) throws ContainerException {
        String made =
                config.path("os").asText() + "/" + config.path("architecture").asText();
        boolean isNamed = !made.startsWith("/") && !made.endsWith("/");
        boolean isOldAmd64 = made.equals("linux/386") && nodePlatform().equals("linux/amd64");
        if (isNamed && !made.equals(nodePlatform()) && !isOldAmd64) {
            throw new ContainerException("the image " + image + " is not made for " + nodePlatform() + ", only for "
                    + made + "; name an image of this platform");
        }
        return isNamed ? made : nodePlatform();
    }

    /** The platform of this node, in the words of Go. */
    static String nodePlatform() {
        return switch (System.getProperty("os.arch")) {
            case "aarch64" -> "linux/arm64";
            case "amd64", "x86_64" -> "linux/amd64";
            case String other -> "linux/" + other;
        };
    }

    static ContainerException damaged(String image, String why) {
        return new ContainerException("the image " + image + " is damaged: " + why + "; push or copy the image again");
    }
}
