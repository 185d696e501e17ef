package io.jrun.train.json;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A strict reader of JSON (RFC 8259) for the headers, indexes and configurations of model files. A key that occurs
 * twice is an error, since readers would disagree on its value. Values are Map, List, String, Long, Double, Boolean or
 * null. A whole number without fraction and exponent is a Long. The class path of a worker has no JSON library: jrun's
 * version would come before the version of the program. Stateless.
 */
public final class JsonReader {
    /** Configurations of models need about five levels. The limit keeps a hostile file from exhausting the stack. */
    private static final int MAX_DEPTH = 16;

    private final String text;
    private int at;

    private JsonReader(String text) {
        this.text = text;
    }

    /**
     * Reads a text that is one object.
     *
     * @throws IllegalArgumentException if the text is malformed; the message names the expected text and the position,
     *     or the key that occurs twice
     */
    public static Map<String, @Nullable Object> readObject(String text) {
        JsonReader reader = new JsonReader(text);
        Map<String, @Nullable Object> object = reader.object(0);
        reader.skipSpace();
        if (reader.at != text.length()) {
            throw reader.expected("the end");
        }
        return object;
    }

    private @Nullable Object value(int depth) {
        if (depth > MAX_DEPTH) {
            throw expected("at most " + MAX_DEPTH + " levels");
        }
        skipSpace();
        char next = peek();
        if (next == '{') {
            return object(depth);
        }
        if (next == '[') {
            return array(depth);
        }
        if (next == '"') {
            return string();
        }
        if (next == '-' || isDigit(next)) {
            return number();
        }
        return literal();
    }

    private Map<String, @Nullable Object> object(int depth) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        expect('{');
        skipSpace();
        if (accept('}')) {
            return object;
        }
        do {
            skipSpace();
            String key = string();
            skipSpace();
            expect(':');
            if (object.containsKey(key)) {
                throw new IllegalArgumentException("key '" + key + "' occurs twice");
            }
            object.put(key, value(depth + 1));
            skipSpace();
        } while (accept(','));
        expect('}');
        return object;
    }

    private List<@Nullable Object> array(int depth) {
        List<@Nullable Object> array = new ArrayList<>();
        expect('[');
        skipSpace();
        if (accept(']')) {
            return array;
        }
        do {
            array.add(value(depth + 1));
            skipSpace();
        } while (accept(','));
        expect(']');
        return array;
    }

    private @Nullable Object literal() {
        for (String word : List.of("true", "false", "null")) {
            if (text.startsWith(word, at)) {
                at += word.length();
                return word.equals("null") ? null : Boolean.valueOf(word);
            }
        }
        throw expected("a value");
    }

    private Number number() {
        int start = at;
        boolean _ = accept('-');
        int first = at;
        digits();
        if (text.charAt(first) == '0' && at - first > 1) {
            throw expected("a number without leading zeros");
        }
        boolean isWhole = true;
        if (accept('.')) {
            isWhole = false;
            digits();
        }
        if (accept('e') || accept('E')) {
            isWhole = false;
            boolean _ = accept('+') || accept('-');
            digits();
        }
        String number = text.substring(start, at);
        try {
            return isWhole ? (Number) Long.valueOf(number) : (Number) Double.valueOf(number);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("number " + number + " is beyond 64 bits", e);
        }
    }

    private void digits() {
        if (!isDigit(peek())) {
            throw expected("a digit");
        }
        while (at < text.length() && isDigit(text.charAt(at))) {
            at++;
        }
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        while (true) {
            char c = next();
            if (c == '"') {
                return out.toString();
            }
            if (c < ' ') {
                throw expected("no control character inside a string");
            }
            out.append(c == '\\' ? escape() : c);
        }
    }

    private char escape() {
        char c = next();
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> unicode();
            default -> throw expected("a known escape after a backslash");
        };
    }

    private char unicode() {
        int code = 0;
        for (int i = 0; i < 4; i++) {
            int digit = Character.digit(next(), 16);
            if (digit < 0) {
                throw expected("four hexadecimal digits");
            }
            code = code * 16 + digit;
        }
        return (char) code;
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private boolean accept(char wanted) {
        if (at < text.length() && text.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private void expect(char wanted) {
        if (!accept(wanted)) {
            throw expected("'" + wanted + "'");
        }
    }

    private char next() {
        char c = peek();
        at++;
        return c;
    }

    private char peek() {
        if (at >= text.length()) {
            throw expected("more characters");
        }
        return text.charAt(at);
    }

    private IllegalArgumentException expected(String what) {
        return new IllegalArgumentException("expected " + what + " at character " + at);
    }
}
