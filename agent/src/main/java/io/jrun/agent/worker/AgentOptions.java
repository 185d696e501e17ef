package io.jrun.agent.worker;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The facts about an agent's own installation.
 *
 * @param version jrun's version; the agent refuses a coordinator of another version
 * @param runtimeClassPath the jars of jrun's runtime, first on the class path of every Java worker
 * @param workerArchive a CDS archive made with exactly this runtime class path, for faster starts of Java workers. The
 *     file may appear or disappear while the agent runs
 */
public record AgentOptions(String version, List<Path> runtimeClassPath, Optional<Path> workerArchive) {
    /** The system property of the launcher's JVM with the path of the worker archive. */
    public static final String WORKER_ARCHIVE_PROPERTY = "jrun.worker.archive";

    /** The system property with the JDK of Java workers on this node, if it is not the JDK of this JVM. */
    private static final String WORKER_JAVA_PROPERTY = "jrun.worker.java";

    /** Copies the list. */
    public AgentOptions {
        runtimeClassPath = List.copyOf(runtimeClassPath);
    }

    /**
     * The options of an installation: {@code home/lib/runtime/*.jar}, jrun's own jars first, and the archive that the
     * system property {@value #WORKER_ARCHIVE_PROPERTY} names.
     */
    public static AgentOptions ofHome(Path home, String version) {
        Optional<Path> archive =
                Optional.ofNullable(System.getProperty(WORKER_ARCHIVE_PROPERTY)).map(Path::of);
        return new AgentOptions(version, runtimeJars(home.resolve("lib").resolve("runtime")), archive);
    }

    /** The JDK of Java workers on this node. The Java runtime of a package has few modules; JAVA_HOME may have more. */
    public static Path javaHome() {
        return Path.of(System.getProperty(WORKER_JAVA_PROPERTY, System.getProperty("java.home")));
    }

    private static List<Path> runtimeJars(Path folder) {
        Comparator<Path> ownFirst =
                Comparator.comparing(jar -> !jar.getFileName().toString().startsWith("jrun-"));
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".jar"))
                    .map(Path::toAbsolutePath)
                    .sorted(ownFirst.thenComparing(Comparator.naturalOrder()))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "jrun's runtime jars cannot be listed in " + folder + "; is the installation complete?", e);
        }
    }
}
