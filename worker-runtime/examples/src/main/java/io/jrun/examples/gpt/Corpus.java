package io.jrun.examples.gpt;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Enumeration;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Text as bytes: a part to train on, and a part to hold out. The order of the files is random, but depends only on their
 * names. So every rank on every machine reads the same bytes, and the held-out end is a fair sample of the whole text.
 */
final class Corpus {
    private static final List<String> TEXT_SUFFIXES = List.of(
            ".java", ".txt", ".md", ".py", ".c", ".h", ".cpp", ".html", ".xml", ".json", ".csv", ".tex", ".rst");
    /** Enough for three digits of the held-out loss; more would only make the evaluation slower. */
    private static final int MAX_HELD_OUT_BYTES = 128 << 10;

    private final byte[] bytes;
    private final int trainBytes;

    private Corpus(byte[] bytes) {
        this.bytes = bytes;
        this.trainBytes = bytes.length - Math.min(MAX_HELD_OUT_BYTES, bytes.length / 10);
    }

    /**
     * Reads up to --max-bytes from the folder, file or zip of --data, by default from the JDK's sources.
     *
     * @throws InvalidArgumentException if there is nothing to read; its line names --data
     */
    static Corpus load(GptOptions options) {
        Path path = options.data().orElseGet(Corpus::jdkSources);
        if (!Files.exists(path)) {
            throw new InvalidArgumentException(
                    options.data().isPresent()
                            ? "--data " + path + " does not exist"
                            : "this JDK has no " + path
                                    + " to train on. Name a text with --data=PATH (folder, file or zip).");
        }
        try {
            byte[] bytes = read(path, options.maxBytes());
            int least = 20 * (options.model().context() + 1);
            if (bytes.length < least) {
                throw new InvalidArgumentException(
                        "--data " + path + " has " + bytes.length + " bytes of text, expected at least " + least
                                + " for --context " + options.model().context());
            }
            return new Corpus(bytes);
        } catch (IOException e) {
            throw new InvalidArgumentException("--data " + path + " cannot be read: " + e);
        }
    }

    /** Bytes to train on; they begin at 0. */
    int trainBytes() {
        return trainBytes;
    }

    /** A copy of the bytes held out. */
    byte[] heldOut() {
        return Arrays.copyOfRange(bytes, trainBytes, bytes.length);
    }

    /** A copy of the bytes to train on. */
    byte[] train() {
        return Arrays.copyOf(bytes, trainBytes);
    }

    private static Path jdkSources() {
        return Path.of(System.getProperty("java.home"), "lib", "src.zip");
    }

    private static byte[] read(Path path, int maxBytes) throws IOException {
        if (Files.isDirectory(path)) {
            return readFolder(path, maxBytes);
        }
        if (path.toString().toLowerCase(Locale.ROOT).endsWith(".zip")) {
            return readZip(path, maxBytes);
        }
        try (InputStream in = Files.newInputStream(path)) {
            return in.readNBytes(maxBytes);
        }
    }

    private static byte[] readFolder(Path folder, int maxBytes) throws IOException {
        Buffer out = new Buffer(maxBytes);
        try (Stream<Path> tree = Files.walk(folder)) {
            List<Path> files = tree.filter(file -> isText(file.toString()) && Files.isRegularFile(file))
                    .sorted(Comparator.comparingLong(
                                    (Path file) -> order(folder.relativize(file).toString()))
                            .thenComparing(Comparator.naturalOrder()))
                    .toList();
            for (Path file : files) {
                if (out.isFull()) {
                    break;
                }
                try (InputStream in = Files.newInputStream(file)) {
                    out.add(in);
                }
            }
        }
        return out.toBytes();
    }

    private static byte[] readZip(Path path, int maxBytes) throws IOException {
        Buffer out = new Buffer(maxBytes);
        try (ZipFile zip = new ZipFile(path.toFile())) {
            List<ZipEntry> entries = new ArrayList<>();
            Enumeration<? extends ZipEntry> all = zip.entries();
            while (all.hasMoreElements()) {
                ZipEntry entry = all.nextElement();
                if (isText(entry.getName())) {
                    entries.add(entry);
                }
            }
            entries.sort(Comparator.comparingLong((ZipEntry entry) -> order(entry.getName()))
                    .thenComparing(ZipEntry::getName));
            for (ZipEntry entry : entries) {
                if (out.isFull()) {
                    break;
                }
                try (InputStream in = zip.getInputStream(entry)) {
                    out.add(in);
                }
            }
        }
        return out.toBytes();
    }

    private static boolean isText(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        return TEXT_SUFFIXES.stream().anyMatch(lower::endsWith);
    }

    private static long order(String name) {
        return new SplittableRandom(name.hashCode()).nextLong();
    }

    /** Bytes up to a limit. */
    private static final class Buffer {
        private final byte[] bytes;
        private int count;

        Buffer(int limit) {
            bytes = new byte[limit];
        }

        boolean isFull() {
            return count == bytes.length;
        }

        void add(InputStream in) throws IOException {
            count += in.readNBytes(bytes, count, bytes.length - count);
        }

        byte[] toBytes() {
            return Arrays.copyOf(bytes, count);
        }
    }
}
