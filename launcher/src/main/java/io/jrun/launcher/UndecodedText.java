package io.jrun.launcher;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Finds arguments and options in variables whose bytes are not UTF-8. The JVM replaces such bytes without a word, so a
 * worker would get another text. Stateless.
 */
final class UndecodedText {
    /** The character by which the JVM replaces bytes that are not UTF-8. */
    private static final char REPLACEMENT = '\uFFFD';

    private static final Path PROCESS = Path.of("/proc/self");

    private UndecodedText() {}

    /** Returns one line about the first such text, empty if there is none. */
    static Optional<String> problem(List<String> args, List<String> names) {
        boolean isSuspect = args.stream().anyMatch(UndecodedText::isReplaced)
                || names.stream().anyMatch(name -> isReplaced(System.getenv().getOrDefault(name, "")));
        return isSuspect ? ofProcess(args.size(), names) : Optional.empty();
    }

    private static boolean isReplaced(String text) {
        return text.indexOf(REPLACEMENT) >= 0;
    }

    private static Optional<String> ofProcess(int count, List<String> names) {
        try {
            List<byte[]> words = words(Files.readAllBytes(PROCESS.resolve("cmdline")));
            List<byte[]> args = words.subList(words.size() - count, words.size());
            for (int i = 0; i < count; i++) {
                if (!isUtf8(args.get(i))) {
                    return Optional.of("argument " + (i + 1) + ", '" + visible(args.get(i)) + "', is not UTF-8."
                            + " jrun hands arguments and --env on as UTF-8 text. Export the value as a variable"
                            + " before jrun, which keeps its bytes, or write it to a file.");
                }
            }
            for (byte[] word : words(Files.readAllBytes(PROCESS.resolve("environ")))) {
                String name = new String(word, StandardCharsets.ISO_8859_1).replaceFirst("=(?s:.*)", "");
                if (names.contains(name) && !isUtf8(word)) {
                    return Optional.of("the variable '" + visible(word)
                            + "' has an option of jrun and is not UTF-8. Write the option as UTF-8 text.");
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.empty(); // without /proc nothing else works either; its own error comes later
        }
    }

    /** The words, each of which ends with a zero byte. */
    private static List<byte[]> words(byte[] bytes) {
        List<byte[]> words = new ArrayList<>();
        int begin = 0;
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == 0) {
                words.add(Arrays.copyOfRange(bytes, begin, i));
                begin = i + 1;
            }
        }
        return words;
    }

    private static boolean isUtf8(byte[] bytes) {
        try {
            var _ = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    /** The text with each byte beyond ASCII as {@code \xHH}. */
    private static String visible(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) {
            text.append(b >= ' ' && b != 127 ? Character.toString(b) : String.format(Locale.ROOT, "\\x%02x", b & 0xff));
        }
        return text.toString();
    }
}
