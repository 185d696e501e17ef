package io.jrun.agent.image.pull;

import com.fasterxml.jackson.databind.JsonNode;
import io.jrun.agent.container.ContainerException;

/**
 * A file of an image: the config, or a layer. Source: the descriptors of the OCI image specification, v1.1.
 *
 * @param digest digest of the stored file, as sha256:...
 * @param size bytes of the stored file
 */
record Blob(String mediaType, String digest, long size) {
    private static final String FORM = "sha256:[0-9a-f]{64}";

    /** @throws ContainerException if a field is missing or has another form */
    static Blob of(JsonNode descriptor, String image) throws ContainerException {
        String digest = descriptor.path("digest").asText();
        if (!isDigest(digest) || !descriptor.path("size").isIntegralNumber()) {
            throw new ContainerException(
                    "the image " + image + " is damaged: the manifest has no valid digest and size: " + descriptor);
        }
        return new Blob(
                descriptor.path("mediaType").asText(),
                digest,
                descriptor.path("size").asLong());
    }

    static boolean isDigest(String text) {
        return text.matches(FORM);
    }

    /** The digits of the digest. */
    String hex() {
        return digest.substring(digest.indexOf(':') + 1);
    }
}
