package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The classes of the tests' worker processes: the class path in jars, because an archive cannot hold classes of
 * folders, and a class-data archive of the classes of a world, as jrun's own workers have. The archive halves the CPU
 * time of a start, and tests start hundreds of workers. All test JVMs of a build share one archive. The first JVM makes
 * it.
 */
final class WorkerClasses {
    private static final Path FOLDER = Path.of("target", "worker-classes").toAbsolutePath();

    private static final List<String> OPTIONS = List.of(
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "--add-modules=jdk.incubator.vector",
            "--enable-native-access=ALL-UNNAMED");

    /** It takes some 5 s; separates working from hanging. */
    private static final long PATIENCE_SECONDS = 100;

    private static @Nullable List<String> archived;

    private WorkerClasses() {}

    /** The first words of a worker's command line, up to its class path. */
    static synchronized List<String> command() throws IOException {
        if (archived == null) {
            Files.createDirectories(FOLDER);
            try (FileChannel lock = FileChannel.open(
                            FOLDER.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    var _ = lock.lock()) {
                archived = find();
            }
        }
        return archived;
    }

    private static List<String> find() throws IOException {
        List<Path> entries = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> !entry.isEmpty()) // surefire's ends with a separator
                .map(Path::of)
                .filter(Files::exists)
                .toList();
        Path build = FOLDER.resolve(Integer.toHexString(stamps(entries).hashCode()));
        List<String> jars = new ArrayList<>();
        for (Path entry : entries) {
            Path jar = Files.isDirectory(entry) ? build.resolve(jars.size() + ".jar") : entry;
            jars.add(jar.toString());
        }
        String classPath = String.join(File.pathSeparator, jars);
        Path archive = build.resolve("archive");
        if (!Files.exists(archive)) {
            removeOthers();
            Files.createDirectories(build);
            for (int i = 0; i < jars.size(); i++) {
                if (Files.isDirectory(entries.get(i))) {
                    jar(entries.get(i), jars.get(i));
                }
            }
            make(archive, classPath);
        }
        return command(List.of("-XX:SharedArchiveFile=" + archive), classPath);
    }

    /** Changes with any class. */
    private static List<String> stamps(List<Path> entries) throws IOException {
        List<String> stamps = new ArrayList<>(List.of(Runtime.version().toString()));
        for (Path entry : entries) {
            try (Stream<Path> files = Files.walk(entry)) {
                for (Path file : files.sorted().toList()) {
                    stamps.add(file + " " + Files.size(file) + " " + Files.getLastModifiedTime(file));
                }
            }
        }
        return stamps;
    }

    private static void jar(Path folder, String jar) {
        int code = ToolProvider.findFirst("jar")
                .orElseThrow()
                .run(System.out, System.err, "--create", "--file", jar, "-C", folder.toString(), ".");
        assertThat(code).as("jar " + folder).isZero();
    }

    /** Lists the classes that the ranks of a world load, and dumps them. */
    private static void make(Path archive, String classPath) throws IOException {
        Path lists = Files.createDirectories(archive.resolveSibling("lists"));
        List<String> listing = command(List.of("-XX:DumpLoadedClassList=" + lists.resolve("%p")), classPath);
        try (TestAgent agent = new TestAgent(List.of(2, 1), listing)) {
            for (Process process : agent.start(WorkerPrograms.OneOperation.class, List.of(), "ALL_REDUCE", "10000")) {
                assertThat(exitCode(process)).as(agent.output(0)).isZero();
            }
        }
        Set<String> classes = new LinkedHashSet<>();
        try (Stream<Path> files = Files.list(lists)) {
            for (Path file : files.toList()) {
                Files.readAllLines(file).stream()
                        .filter(line -> !line.contains(" source: "))
                        .map(line -> line.replaceFirst(" id: .*", ""))
                        .forEach(classes::add);
            }
        }
        Path list = Files.write(archive.resolveSibling("list"), classes);
        Path dumped = archive.resolveSibling("dumped");
        List<String> dump = command(
                List.of("-Xshare:dump", "-XX:SharedClassListFile=" + list, "-XX:SharedArchiveFile=" + dumped),
                classPath);
        Path output = archive.resolveSibling("output");
        Process process = new ProcessBuilder(dump)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        assertThat(exitCode(process)).as(Files.readString(output)).isZero();
        Files.move(dumped, archive, StandardCopyOption.ATOMIC_MOVE);
    }

    private static int exitCode(Process process) {
        return process.onExit()
                .orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .join()
                .exitValue();
    }

    private static List<String> command(List<String> options, String classPath) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(OPTIONS);
        command.addAll(options);
        command.addAll(List.of("-cp", classPath));
        return command;
    }

    /** The folders of earlier builds. */
    private static void removeOthers() throws IOException {
        try (Stream<Path> files = Files.walk(FOLDER)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                if (!file.equals(FOLDER) && !file.equals(FOLDER.resolve("lock"))) {
                    Files.delete(file);
                }
            }
        }
    }
}
