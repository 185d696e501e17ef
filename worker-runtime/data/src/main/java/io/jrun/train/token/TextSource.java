package io.jrun.train.token;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.train.data.DataException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Text in a file, a folder or a zip file. A file whose name ends with {@code .jsonl} is JSON Lines: each line is an
 * object, and one of its fields is the text of a document. Each other file is one document. In a folder or a zip file,
 * jrun reads the files with a suffix of text. Their order is random, but depends only on their names: each machine
 * reads the same text, and each part of the text is a fair sample.
 *
 * @param maxBytes bytes of text to read at most; the last document is cut there
 * @param jsonField the field of JSON Lines with the text, as a rule {@code text}
 */
public record TextSource(Path path, long maxBytes, String jsonField) {
    private static final String ZIP = ".zip";
    private static final List<String> TEXT_SUFFIXES = List.of(
            ".java",
            ".txt",
            ".md",
            ".py",
            ".c",
            ".h",
            ".cpp",
            ".html",
            ".xml",
            ".json",
            ".csv",
            ".tex",
            ".rst",
            TextPartReader.JSON_LINES);

    /**
     * Reads the text part by part.
     *
     * @return bytes of text that were read
     * @throws DataException in one line with file and record, if something cannot be read, or if there is no text
     */
    public long read(Consumer<TextPart> handler) {
        TextPartReader reader = new TextPartReader(maxBytes, jsonField, handler);
        try {
            if (Files.isDirectory(path)) {
                readFolder(reader);
            } else if (path.toString().toLowerCase(Locale.ROOT).endsWith(ZIP)) {
                readZip(reader);
            } else {
                try (InputStream in = UserFile.stream(path)) {
                    reader.read(path.toString(), in);
                }
            }
        } catch (IOException | UncheckedIOException e) {
            throw new DataException("cannot read " + path + ": " + FileError.reason(e, path), e);
        }
        if (reader.textBytes() == 0) {
            throw new DataException(path + " has no text. Give a file, or a folder or zip file with files that end in "
                    + String.join(", ", TEXT_SUFFIXES));
        }
        return reader.textBytes();
    }

    private void readFolder(TextPartReader reader) throws IOException {
        Queue<OrderedFile<Path>> files;
        try (Stream<Path> tree = Files.walk(path)) {
            files = tree.filter(file -> isText(file.toString()) && Files.isRegularFile(file))
                    .map(file -> OrderedFile.of(path.relativize(file).toString(), file))
                    .collect(Collectors.toCollection(PriorityQueue::new));
        }
        while (!files.isEmpty() && !reader.isFull()) {
            Path file = files.remove().file();
            try (InputStream in = UserFile.stream(file)) {
                reader.read(file.toString(), in);
            } catch (IOException e) {
                throw new DataException("cannot read " + file + ": " + FileError.reason(e, file), e);
            }
        }
    }

    private void readZip(TextPartReader reader) throws IOException {
        UserFile.requireRegular(path);
        try (ZipFile zip = new ZipFile(path.toFile())) {
            Queue<OrderedFile<ZipEntry>> files = zip.stream()
                    .filter(entry -> isText(entry.getName()) && !entry.isDirectory())
                    .map(entry -> OrderedFile.<ZipEntry>of(entry.getName(), entry))
                    .collect(Collectors.toCollection(PriorityQueue::new));
            while (!files.isEmpty() && !reader.isFull()) {
                ZipEntry entry = files.remove().file();
                String name = path + ": " + entry.getName();
                try (InputStream in = zip.getInputStream(entry)) {
                    reader.read(name, in);
                } catch (IOException e) {
                    throw new DataException("cannot read " + name + ": " + FileError.reason(e, name), e);
                }
            }
        }
    }

    private static boolean isText(String name) {
        for (String suffix : TEXT_SUFFIXES) {
            if (name.regionMatches(true, name.length() - suffix.length(), suffix, 0, suffix.length())) {
                return true;
            }
        }
        return false;
    }

    /** A file with its place in the random order. A heap finds the first files, and does not sort all of them. */
    private record OrderedFile<T>(long order, String name, T file) implements Comparable<OrderedFile<T>> {
        static <T> OrderedFile<T> of(String name, T file) {
            return new OrderedFile<>(new SplittableRandom(name.hashCode()).nextLong(), name, file);
        }

        @Override
        public int compareTo(OrderedFile<T> other) {
            int byOrder = Long.compare(order, other.order);
            return byOrder == 0 ? name.compareTo(other.name) : byOrder;
        }
    }
}
