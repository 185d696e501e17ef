package io.jrun.agent.image.pull;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Reads the file of {@code docker login}: the members {@code auths}, {@code credHelpers} and {@code credsStore}.
 * Source: Docker's reference of config.json, and the protocol of docker-credential-helpers. Stateless.
 */
final class DockerConfig {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long HELPER_SECONDS = 30;

    private DockerConfig() {}

    /**
     * @param names names of the registry, of which one must match
     */
    static Optional<Credential> find(Path file, List<String> names, Map<String, String> environment)
            throws ContainerException {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try {
            JsonNode config = JSON.readTree(file.toFile());
            for (String name : names) {
                String helper = config.path("credHelpers").path(name).asText();
                if (!helper.isEmpty()) {
                    return ofHelper(helper, name, environment);
                }
                JsonNode auth = firstPresent(config.path("auths"), name);
                String both =
                        new String(Base64.getDecoder().decode(auth.path("auth").asText()), StandardCharsets.UTF_8);
                int colon = both.indexOf(':');
                if (colon > 0) {
                    return Optional.of(
                            new Credential(both.substring(0, colon), both.substring(colon + 1), file.toString()));
                }
                if (auth.isObject() && config.hasNonNull("credsStore")) {
                    return ofHelper(config.get("credsStore").asText(), name, environment);
                }
            }
            return Optional.empty();
        } catch (JsonProcessingException | IllegalArgumentException e) {
            throw new ContainerException("the credentials in " + file + " are damaged; run 'docker login' again", e);
        } catch (IOException e) {
            throw new ContainerException("the credentials in " + file + " cannot be read: " + e.getMessage(), e);
        }
    }

    /** The first existing member. Older tools write a URL as the name. */
    private static JsonNode firstPresent(JsonNode auths, String name) {
        for (String key : List.of(name, "https://" + name, "https://" + name + "/v2/", "http://" + name)) {
            if (auths.has(key)) {
                return auths.get(key);
            }
        }
        return JSON.missingNode();
    }

    private static Optional<Credential> ofHelper(String suffix, String registry, Map<String, String> environment)
            throws ContainerException, IOException {
        if (!suffix.matches("[A-Za-z0-9_-]+")) {
            throw new ContainerException("'" + suffix + "' is not the name of a credential helper of Docker");
        }
        String program = "docker-credential-" + suffix;
        ProcessBuilder builder = new ProcessBuilder(program, "get").redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().putAll(environment);
        Process process = builder.start();
        try {
            process.getOutputStream().write(registry.getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().close();
            byte[] answer = process.getInputStream().readAllBytes();
            if (!process.waitFor(HELPER_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
                return Optional.empty(); // The helper has no credentials.
            }
            JsonNode json = JSON.readTree(answer);
            return Optional.of(new Credential(
                    json.path("Username").asText(), json.path("Secret").asText(), program));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while " + program + " ran", e);
        } finally {
            process.destroyForcibly();
        }
    }
}
