package io.jrun.agent.worker;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.HostFolder;
import io.jrun.agent.container.HostFolder.Access;
import io.jrun.agent.container.JavaChoice;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.node.JdkRelease;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.JarFile;

/** Finds the JDK that runs Java programs in a container. */
final class ContainerJava {
    private static final String JAVA = "/bin/java";

    private final NodeContainers containers;
    private final JavaChoice choice;

    ContainerJava(NodeContainers containers, JavaChoice choice) {
        this.containers = containers;
        this.choice = choice;
    }

    /**
     * The folder of the JDK inside the container.
     *
     * @param chosen the JDK of the node from --java; empty for the agent's JDK
     */
    String home(String chosen) throws ContainerException {
        Optional<String> own = choice == JavaChoice.HOST || !chosen.isEmpty() ? Optional.empty() : ofImage();
        if (own.isPresent()) {
            return own.get();
        }
        if (choice == JavaChoice.IMAGE) {
            throw new ContainerException("--container-java=image: the image has no JDK " + JdkRelease.NEEDED
                    + " or newer in its JAVA_HOME or on its PATH; use --container-java=auto, or another image");
        }
        return ofNode(chosen.isEmpty() ? AgentOptions.javaHome().toString() : chosen);
    }

    private Optional<String> ofImage() throws ContainerException {
        Map<String, String> variables = containers.image().environment();
        String home = variables.getOrDefault("JAVA_HOME", "");
        if (home.startsWith("/") && isNewEnough(home)) {
            return Optional.of(home);
        }
        for (String folder :
                variables.getOrDefault("PATH", ContainerEnvironment.PATH).split(":", -1)) {
            if (folder.startsWith("/") && containers.find(folder + "/java").isPresent()) {
                String java = containers.resolve(folder + "/java");
                String found = java.endsWith(JAVA) ? java.substring(0, java.length() - JAVA.length()) : "";
                return isNewEnough(found) ? Optional.of(found) : Optional.empty();
            }
        }
        return Optional.empty();
    }

    private boolean isNewEnough(String home) throws ContainerException {
        Optional<Path> release = containers.find(home + "/release").filter(Files::isRegularFile);
        return containers.find(home + JAVA).isPresent()
                && release.flatMap(JdkRelease::read)
                        .filter(jdk -> jdk.feature() >= JdkRelease.NEEDED)
                        .isPresent();
    }

    private String ofNode(String home) throws ContainerException {
        String loader = System.getProperty("os.arch").equals("aarch64")
                ? "/lib/ld-linux-aarch64.so.1"
                : "/lib64/ld-linux-x86-64.so.2";
        if (containers.find(loader).isEmpty()) {
            throw new ContainerException("the image has no JDK " + JdkRelease.NEEDED
                    + " or newer, and cannot run the node's JDK, since the image has no glibc (" + loader
                    + "); use an image with a JDK");
        }
        containers.add(new HostFolder(Path.of(home), Access.READ));
        return home;
    }

    /** The main class in the manifest of a jar inside the container. */
    static String mainClass(NodeContainers containers, String jar) throws ContainerException {
        Path file = containers
                .find(jar)
                .orElseThrow(() -> new ContainerException(jar + " does not exist inside the container"));
        try (JarFile read = new JarFile(file.toFile())) {
            String main = read.getManifest() == null
                    ? null
                    : read.getManifest().getMainAttributes().getValue(Attributes.Name.MAIN_CLASS);
            if (main == null) {
                throw new ContainerException(
                        jar + ": the jar's manifest names no Main-Class; name one with --main-class");
            }
            return main;
        } catch (IOException e) {
            throw new ContainerException(jar + " inside the container is not a readable jar: " + e.getMessage(), e);
        }
    }
}
