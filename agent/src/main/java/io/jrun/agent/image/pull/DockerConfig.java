package io.jrun.agent.image.pull;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jrun.agent.container.ContainerException;
import io.jrun.agent.node.SearchPath;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.io.OutputStream;
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
    private static final int MAX_FILE_BYTES = 1 << 20;
    private static final long HELPER_SECONDS = 30;

    /** The bytes that a pipe holds. A helper with a longer answer does not end. */
    private static final int MAX_ANSWER = 1 << 16;

    /** The user of a helper whose secret is an identity token. */
    private static final String TOKEN_USER = "<token>";

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
            JsonNode config = JSON.readTree(UserFile.bytes(file, MAX_FILE_BYTES));
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
                            credential(both.substring(0, colon), both.substring(colon + 1), file.toString()));
                }
                if (auth.isObject() && config.hasNonNull("credsStore")) {
                    return ofHelper(config.get("credsStore").asText(), name, environment);
                }
            }
            return Optional.empty();
        } catch (JsonProcessingException | IllegalArgumentException e) {
            throw new ContainerException("the credentials in " + file + " are damaged; run 'docker login' again", e);
        } catch (IOException e) {
            throw new ContainerException(
                    "the credentials in " + file + " cannot be read: " + FileError.reason(e, file), e);
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
        String path = SearchPath.ofTools(environment)
                .find(program)
                .map(Path::toString)
                .orElseThrow(() -> new ContainerException("the credential helper " + program + " for the registry "
                        + registry + " is not on PATH on this node; install the helper, or log in without the helper"));
        ProcessBuilder builder = new ProcessBuilder(path, "get").redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().putAll(environment);
        Process process = builder.start();
        try {
            send(process, registry);
            if (!process.waitFor(HELPER_SECONDS, TimeUnit.SECONDS)) {
                throw new ContainerException(program + " has not answered within " + HELPER_SECONDS
                        + " s for the registry " + registry + "; run it by hand: echo " + registry + " | " + program
                        + " get");
            }
            byte[] answer = process.getInputStream().readNBytes(MAX_ANSWER);
            if (process.exitValue() != 0) {
                return notFound(program, registry, new String(answer, StandardCharsets.UTF_8));
            }
            JsonNode json = JSON.readTree(answer);
            return Optional.of(credential(
                    json.path("Username").asText(), json.path("Secret").asText(), program));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while " + program + " ran", e);
        } finally {
            process.destroyForcibly();
        }
    }

    /** Writes the name of the registry. A helper that has failed may have ended before. */
    private static void send(Process helper, String registry) {
        try (OutputStream in = helper.getOutputStream()) {
            in.write(registry.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            // The exit code and the output of the helper name the failure.
        }
    }

    /** A helper without credentials for the registry prints a line with the words "not found", or nothing. */
    private static Optional<Credential> notFound(String program, String registry, String output)
            throws ContainerException {
        if (output.isBlank() || output.contains("not found")) {
            return Optional.empty();
        }
        throw new ContainerException(program + " gives no credentials for the registry " + registry + ": "
                + output.strip().replaceAll("\\s+", " "));
    }

    /** An identity token needs a protocol of its own, which the library of registries lacks. */
    private static Credential credential(String user, String password, String source) throws ContainerException {
        if (user.equals(TOKEN_USER) || password.isEmpty()) {
            throw new ContainerException("the credentials of " + source + " are an identity token, which jrun cannot"
                    + " use; log in with a password or an access token");
        }
        return new Credential(user, password, source);
    }
}
