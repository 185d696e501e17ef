package io.jrun.train.json;

import java.math.BigDecimal;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes JSON (RFC 8259) on one line. Stateless. */
public final class JsonWriter {
    private JsonWriter() {}

    /**
     * The text of a value: a map with text keys, a list, a text, a whole number, a decimal number, a truth value or
     * null.
     *
     * @throws IllegalArgumentException for a value of another class
     */
    public static String write(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        append(out, value);
        return out.toString();
    }

    /** A text with its quotes and escapes. */
    public static String quote(String text) {
        StringBuilder out = new StringBuilder();
        appendText(out, text);
        return out.toString();
    }

    private static void append(StringBuilder out, @Nullable Object value) {
        switch (value) {
            case null -> out.append("null");
            case String text -> appendText(out, text);
            case Long number -> out.append(number.longValue());
            case Integer number -> out.append(number.intValue());
            case BigDecimal number -> out.append(number.toPlainString());
            case Boolean flag -> out.append(flag.booleanValue());
            case Map<?, ?> map -> {
                out.append('{');
                Iterator<? extends Map.Entry<?, ?>> members = map.entrySet().iterator();
                while (members.hasNext()) {
                    Map.Entry<?, ?> member = members.next();
                    appendText(out, String.valueOf(member.getKey()));
                    out.append(':');
                    append(out, member.getValue());
                    out.append(members.hasNext() ? "," : "");
                }
                out.append('}');
            }
            case Iterable<?> elements -> {
                out.append('[');
                Iterator<?> each = elements.iterator();
                while (each.hasNext()) {
                    append(out, each.next());
                    out.append(each.hasNext() ? "," : "");
                }
                out.append(']');
            }
            default -> throw new IllegalArgumentException("JSON has no form for " + value.getClass());
        }
    }

    private static void appendText(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"', '\\' -> out.append('\\').append(c);
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ') {
                        out.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }
}
