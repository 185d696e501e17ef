package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Finds the user and password for a registry: in Enroot's file of credentials, then in the files that
 * {@code docker login} and {@code podman login} write.
 *
 * @param environment the variables that name the files
 */
record RegistryCredentials(Map<String, String> environment) {
    /** The names under which other tools keep the credentials of Docker Hub. */
    private static final List<String> HUB = List.of(
            "auth.docker.io", ImageReference.DOCKER_HUB, "docker.io", "index.docker.io", "https://index.docker.io/v1/");

    /**
     * The credentials of an image's registry; empty if no file has credentials of the registry and of the user that the
     * image names.
     */
    Optional<Credential> find(ImageReference.Registry image) throws ContainerException {
        List<String> names = image.host().equals(ImageReference.DOCKER_HUB) ? HUB : List.of(image.host());
        Optional<Credential> enroot = NetrcFile.find(enrootFile(), names, image.user());
        if (enroot.isPresent()) {
            return enroot;
        }
        for (Path file : dockerFiles()) {
            Optional<Credential> docker = DockerConfig.find(file, names, environment)
                    .filter(found -> image.user().isEmpty() || found.user().equals(image.user()));
            if (docker.isPresent()) {
                return docker;
            }
        }
        return Optional.empty();
    }

    /** Enroot's file of credentials. */
    Path enrootFile() {
        String enroot = environment.getOrDefault("ENROOT_CONFIG_PATH", "");
        String config = environment.getOrDefault("XDG_CONFIG_HOME", "");
        Path folder = !enroot.isEmpty()
                ? Path.of(enroot)
                : (config.isEmpty() ? home().resolve(".config") : Path.of(config)).resolve("enroot");
        return folder.resolve(".credentials");
    }

    private List<Path> dockerFiles() {
        String named = environment.getOrDefault("REGISTRY_AUTH_FILE", "");
        if (!named.isEmpty()) {
            return List.of(Path.of(named));
        }
        String docker = environment.getOrDefault("DOCKER_CONFIG", "");
        Path config = (docker.isEmpty() ? home().resolve(".docker") : Path.of(docker)).resolve("config.json");
        String runtime = environment.getOrDefault("XDG_RUNTIME_DIR", "");
        return runtime.isEmpty() ? List.of(config) : List.of(config, Path.of(runtime, "containers", "auth.json"));
    }

    private Path home() {
        return Path.of(environment.getOrDefault("HOME", System.getProperty("user.home", "/")));
    }
}
