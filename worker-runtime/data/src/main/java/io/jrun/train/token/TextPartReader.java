package io.jrun.train.token;

import io.jrun.train.data.DataException;
import io.jrun.train.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Consumer;

/** Cuts files into {@link TextPart}s, up to a number of bytes. Needs memory for one record, not for a file. */
final class TextPartReader {
    /** Ends the names of files of JSON Lines. */
    static final String JSON_LINES = ".jsonl";

    /** A part is encoded at once: large enough for the speed of a tokenizer, small enough for memory. */
    private static final int PART_BYTES = 1 << 20;

    private final long maxBytes;
    private final String jsonField;
    private final Consumer<TextPart> handler;
    private long textBytes;

    TextPartReader(long maxBytes, String jsonField, Consumer<TextPart> handler) {
        this.maxBytes = maxBytes;
        this.jsonField = jsonField;
        this.handler = handler;
    }

    long textBytes() {
        return textBytes;
    }

    boolean isFull() {
        return textBytes >= maxBytes;
    }

    /** Reads a file. {@code name} stands in errors. */
    void read(String name, InputStream in) throws IOException {
        if (name.toLowerCase(Locale.ROOT).endsWith(JSON_LINES)) {
            readJsonLines(name, in);
        } else {
            readText(name, in);
        }
    }

    private void readText(String name, InputStream in) throws IOException {
        byte[] rest = {};
        long position = 0;
        boolean isLast = false;
        while (!isLast && !isFull()) {
            byte[] read = in.readNBytes(PART_BYTES);
            isLast = read.length < PART_BYTES;
            byte[] bytes = Arrays.copyOf(rest, rest.length + read.length);
            System.arraycopy(read, 0, bytes, rest.length, read.length);
            int end = isLast ? bytes.length : endOfPart(bytes);
            if (end > 0) {
                String location =
                        isLast && position == 0 ? name : name + ", bytes " + position + " to " + (position + end);
                give(location, Arrays.copyOf(bytes, end), isLast);
            }
            rest = Arrays.copyOfRange(bytes, end, bytes.length);
            position += end;
        }
    }

    private void readJsonLines(String name, InputStream in) throws IOException {
        JsonLines.read(
                name,
                in,
                this::isFull,
                (number, record) -> give(
                        name + ", line " + number, text(name, number, record).getBytes(StandardCharsets.UTF_8), true));
    }

    private String text(String name, long line, String record) {
        try {
            return JsonObject.parseLine(name, line, record)
                    .text(jsonField)
                    .orElseThrow(() -> new DataException(name + ", line " + line + " lacks '" + jsonField + "'"));
        } catch (IllegalArgumentException e) {
            throw new DataException(String.valueOf(e.getMessage()), e);
        }
    }

    private void give(String location, byte[] text, boolean endsDocument) {
        long left = maxBytes - textBytes;
        boolean isCut = text.length > left;
        byte[] given = isCut ? Arrays.copyOf(text, endOfCharacters(text, (int) left)) : text;
        textBytes = isCut ? maxBytes : textBytes + text.length;
        handler.accept(new TextPart(location, given, endsDocument || isCut));
    }

    /** Behind the last line end, or, without a line end, behind the last whole character. */
    private static int endOfPart(byte[] bytes) {
        for (int i = bytes.length; i > 0; i--) {
            if (bytes[i - 1] == '\n') {
                return i;
            }
        }
        int begin = bytes.length - 1;
        while (bytes.length - begin < 4 && isContinuation(bytes[begin])) {
            begin--;
        }
        boolean endsInside = bytes[begin] < 0 && !isContinuation(bytes[begin]);
        return endsInside ? begin : bytes.length;
    }

    /** The largest number up to {@code limit} of bytes that are whole characters, if the bytes are UTF-8. */
    static int endOfCharacters(byte[] bytes, int limit) {
        int end = limit;
        while (limit - end < 3 && end > 0 && end < bytes.length && isContinuation(bytes[end])) {
            end--;
        }
        return end;
    }

    private static boolean isContinuation(byte b) {
        return (b & 0xC0) == 0x80;
    }
}
