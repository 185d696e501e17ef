package io.jrun.train.checkpoint;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A strict reader for the JSON of a safetensors header: objects, arrays, strings and non-negative integers, which is all
 * that the format allows. A worker's class path holds no JSON library, so that a user's own version of one meets no
 * other. Values come back as Map, List, String or Long. Source: RFC 8259.
 */
final class JsonReader {
    /** The format needs three levels; the limit keeps a hostile file from exhausting the stack. */
    private static final int MAX_DEPTH = 8;

    private final String text;
    private int at;

    private JsonReader(String text) {
        this.text = text;
    }

    /** @throws IllegalArgumentException saying what was expected at which position, or which key came twice */
    static Map<String, Object> readObject(String text) {
        JsonReader reader = new JsonReader(text);
        Map<String, Object> object = reader.object(0);
        reader.skipSpace();
        if (reader.at != text.length()) {
            throw reader.expected("the end");
        }
        return object;
    }

    private Object value(int depth) {
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
        if (next >= '0' && next <= '9') {
            return integer();
        }
        throw expected("an object, a list, a string or a whole number");
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> object = new LinkedHashMap<>();
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
            if (object.put(key, value(depth + 1)) != null) {
                throw new IllegalArgumentException("key '" + key + "' comes twice");
            }
            skipSpace();
        } while (accept(','));
        expect('}');
        return object;
    }

    private List<Object> array(int depth) {
        List<Object> array = new ArrayList<>();
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

    private Long integer() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        String digits = text.substring(start, at);
        if (digits.length() > 1 && digits.startsWith("0")) {
            throw expected("a number without leading zeros");
        }
        try {
            return Long.valueOf(digits);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("number " + digits + " is beyond 64 bits", e);
        }
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
