package io.jrun.launcher.source;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jrun.agent.files.PrivateFolder;
import io.jrun.comm.file.Sha256;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Compiled source files in the cache of the user. A jar never changes, its time included, because a running job may start
 * workers again, and compares the time. A file beside the jar has the time of the last use. A jar that no start has used
 * for 30 days is deleted.
 *
 * @param folder belongs to the user alone
 */
record SourceCache(Path folder) {
    private static final Duration UNUSED = Duration.ofDays(30);
    private static final ObjectMapper JSON = new ObjectMapper();

    /**
     * A source file whose program the cache has.
     *
     * @param sources the SHA-256 of each source file that was compiled, by its path
     */
    record Entry(String jar, List<String> dependencies, String mainClass, Map<String, String> sources) {
        /** The program, if no source file has changed and all jars are there. */
        private Optional<SourceProgram> program() throws IOException {
            for (Map.Entry<String, String> source : sources.entrySet()) {
                Path file = Path.of(source.getKey());
                if (!Files.isRegularFile(file) || !source.getValue().equals(hash(Files.readAllBytes(file)))) {
                    return Optional.empty();
                }
            }
            SourceProgram program = new SourceProgram(
                    Path.of(jar), dependencies.stream().map(Path::of).toList(), mainClass);
            return Stream.concat(Stream.of(program.jar()), program.dependencies().stream())
                            .allMatch(Files::isRegularFile)
                    ? Optional.of(program)
                    : Optional.empty();
        }
    }

    /** Opens the cache below {@code base}. */
    static SourceCache claim(Path base) throws IOException {
        Path folder = base.resolve("sources");
        PrivateFolder.claim(base);
        PrivateFolder.claim(folder);
        return new SourceCache(folder);
    }

    /** The program of a key, if the program can still be used. */
    Optional<SourceProgram> find(String key) throws IOException {
        try {
            Entry entry = JSON.readValue(Files.readAllBytes(index(key)), Entry.class);
            Optional<SourceProgram> program = entry.program();
            if (program.isPresent()) {
                Files.setLastModifiedTime(index(key), FileTime.from(Instant.now()));
                noteUse(program.get().jar());
            }
            return program;
        } catch (NoSuchFileException | JsonProcessingException e) {
            return Optional.empty();
        }
    }

    /** Keeps a jar. The name has the hash of the content: two processes may keep the same jar at the same time. */
    Path keep(String name, Path jar) throws IOException {
        Path kept = folder.resolve(name + "-" + hash(Files.readAllBytes(jar)).substring(0, 16) + ".jar");
        noteUse(kept);
        if (!Files.isRegularFile(kept)) {
            Files.move(jar, kept, StandardCopyOption.ATOMIC_MOVE);
        }
        return kept;
    }

    /** Remembers the program of a key. */
    void put(String key, SourceProgram program, Map<String, String> sources) throws IOException {
        Path written = Files.createTempFile(folder, key, ".new");
        Entry entry = new Entry(
                program.jar().toString(),
                program.dependencies().stream().map(Path::toString).toList(),
                program.mainClass(),
                sources);
        Files.write(written, JSON.writeValueAsBytes(entry));
        Files.move(written, index(key), StandardCopyOption.ATOMIC_MOVE);
    }

    /** The jars that Maven has found for dependencies, if all are still there. */
    Optional<List<Path>> jars(List<SourceDirectives.Dependency> dependencies) throws IOException {
        try {
            List<Path> jars = Files.readAllLines(jarList(dependencies)).stream()
                    .map(Path::of)
                    .toList();
            return jars.stream().allMatch(Files::isRegularFile) ? Optional.of(jars) : Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /** Remembers the jars that Maven has found. */
    void putJars(List<SourceDirectives.Dependency> dependencies, List<Path> jars) throws IOException {
        Path written = Files.createTempFile(folder, "jars", ".new");
        Files.write(written, jars.stream().map(Path::toString).toList());
        Files.move(written, jarList(dependencies), StandardCopyOption.ATOMIC_MOVE);
    }

    private Path jarList(List<SourceDirectives.Dependency> dependencies) {
        return folder.resolve("jars-" + hash(dependencies.toString()).substring(0, 24));
    }

    /** Deletes what no start has used for 30 days. */
    void sweep() throws IOException {
        Instant limit = Instant.now().minus(UNUSED);
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            files = all.filter(Files::isRegularFile).toList();
        }
        for (Path file : files) {
            if (isOlder(file, limit) && isOlder(lastUse(file), limit)) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static boolean isOlder(Path file, Instant limit) throws IOException {
        return !Files.exists(file)
                || Files.getLastModifiedTime(file).toInstant().isBefore(limit);
    }

    /** The empty file whose time is the last use of another file. */
    private static Path lastUse(Path file) {
        return file.resolveSibling(file.getFileName() + ".used");
    }

    private static void noteUse(Path jar) throws IOException {
        Path file = lastUse(jar);
        Files.write(file, new byte[0], StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
    }

    private Path index(String key) {
        return folder.resolve(key + ".json");
    }

    /** SHA-256 as hexadecimal digits. */
    static String hash(byte[] content) {
        return HexFormat.of().formatHex(Sha256.start().digest(content));
    }

    static String hash(String text) {
        return hash(text.getBytes(StandardCharsets.UTF_8));
    }
}
