package io.jrun.agent.worker;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Makes the class-data archive of Java workers. The archive is static, with the runtime class path and the module
 * options of the workers. With these options a JVM cannot use the JDK's own archive completely, and a dynamic archive
 * needs the JDK's archive. HotSpot checks the archive against the jars. If the archive does not fit, workers start
 * without it.
 */
public final class WorkerArchive {
    private static final long DUMP_SECONDS = 120;

    private static final Set<String> KEPT_VARIABLES = Set.of("PATH", "HOME", "TMPDIR", "LC_ALL", "LANG");

    private WorkerArchive() {}

    /**
     * Entry point for a shell: {@code WorkerArchive HOME TARGET LISTS} archives for the installation in HOME the
     * classes that workers have listed (-XX:DumpLoadedClassList) in the files of the folder LISTS.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        create(AgentOptions.ofHome(Path.of(args[0]), ""), Path.of(args[1]), Path.of(args[2]));
    }

    /** Writes the archive beside {@code target} and renames it, so {@code target} is always complete. Takes seconds. */
    private static void create(AgentOptions options, Path target, Path lists) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory(target.toAbsolutePath().getParent(), "worker-archive");
        Path classes = folder.resolve("classes");
        Path archive = folder.resolve("archive");
        try {
            Files.write(classes, merged(lists));
            dump(options, classes, archive);
            Files.move(archive, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(classes);
            Files.deleteIfExists(archive);
            Files.delete(folder);
        }
    }

    /**
     * Merges the lists, each line once. Lines with ids are left out: an id is valid in one list only, and only classes
     * of custom class loaders need ids.
     */
    private static Set<String> merged(Path lists) throws IOException {
        Set<String> lines = new LinkedHashSet<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(lists)) {
            for (Path file : files) {
                String text = Files.readString(file);
                text.substring(0, text.lastIndexOf('\n') + 1) // a killed worker leaves half a line
                        .lines()
                        .filter(line -> !line.contains(" source: "))
                        .map(line -> line.replaceFirst(" id: .*", ""))
                        .forEach(lines::add);
            }
        }
        return lines;
    }

    private static void dump(AgentOptions options, Path classes, Path archive)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xlog:disable"));
        command.addAll(JvmDefaults.MODULE_OPTIONS);
        command.addAll(
                List.of("-Xshare:dump", "-XX:SharedClassListFile=" + classes, "-XX:SharedArchiveFile=" + archive));
        command.add("-cp");
        command.add(options.runtimeClassPath().stream()
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator)));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().retainAll(KEPT_VARIABLES);
        Process process = builder.start();
        if (!process.waitFor(DUMP_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new IOException("archiving the workers' classes took over " + DUMP_SECONDS + " s: " + command);
        }
        if (process.exitValue() != 0) {
            throw new IOException(
                    "archiving the workers' classes failed with exit code " + process.exitValue() + ": " + command);
        }
    }
}
