package io.jrun.train.token;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.train.data.DataException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.function.Consumer;
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
        List<Path> files;
        try (Stream<Path> tree = Files.walk(path)) {
            files = tree.filter(file -> isText(file.toString()) && Files.isRegularFile(file))
                    .sorted(Comparator.comparingLong(
                                    (Path file) -> order(path.relativize(file).toString()))
                            .thenComparing(Comparator.naturalOrder()))
                    .toList();
        }
        for (Path file : files) {
            if (reader.isFull()) {
                return;
            }
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
            List<? extends ZipEntry> entries = zip.stream()
                    .filter(entry -> isText(entry.getName()) && !entry.isDirectory())
                    .sorted(Comparator.comparingLong((ZipEntry entry) -> order(entry.getName()))
                            .thenComparing(ZipEntry::getName))
                    .toList();
            for (ZipEntry entry : entries) {
                if (reader.isFull()) {
                    return;
                }
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
        String lower = name.toLowerCase(Locale.ROOT);
        return TEXT_SUFFIXES.stream().anyMatch(lower::endsWith);
    }

    private static long order(String name) {
        return new SplittableRandom(name.hashCode()).nextLong();
    }
}
