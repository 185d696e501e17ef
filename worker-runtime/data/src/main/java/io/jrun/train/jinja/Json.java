package io.jrun.train.jinja;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Values as JSON, with the white space of Python's {@code json.dumps} and with characters beyond ASCII as they are. */
final class Json {
    private final StringBuilder out = new StringBuilder();
    private final String indent;

    private Json(String indent) {
        this.indent = indent;
    }

    /** @param indent spaces of a level; {@link None} for one line */
    static String text(Object value, Object indent) {
        Json json = new Json(indent == None.NONE ? "" : " ".repeat(Math.clamp(Values.whole(indent), 0, 16)));
        json.write(value, indent == None.NONE ? "" : "\n");
        return json.out.toString();
    }

    /** @param line the line break of this level; empty for one line */
    private void write(Object value, String line) {
        switch (value) {
            case None _ -> out.append("null");
            case Boolean flag -> out.append(flag);
            case Long number -> out.append(number);
            case Double number -> out.append(Values.decimal(number));
            case String text -> quoted(text);
            case List<?> list -> {
                String inner = line.isEmpty() ? "" : line + indent;
                String separator = "";
                out.append('[');
                for (Object element : list) {
                    out.append(separator).append(inner);
                    separator = inner.isEmpty() ? ", " : ",";
                    write(element, inner);
                }
                out.append(list.isEmpty() ? "" : line).append(']');
            }
            case Map<?, ?> map -> {
                String inner = line.isEmpty() ? "" : line + indent;
                String separator = "";
                out.append('{');
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    out.append(separator).append(inner);
                    separator = inner.isEmpty() ? ", " : ",";
                    quoted(Values.text(entry.getKey()));
                    out.append(": ");
                    write(entry.getValue(), inner);
                }
                out.append(map.isEmpty() ? "" : line).append('}');
            }
            case Number number -> out.append(number);
            default -> throw new IllegalArgumentException("tojson cannot write " + Values.type(value));
        }
    }

    private void quoted(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                case '\b' -> out.append("\\b");
                case '\f' -> out.append("\\f");
                default -> out.append(c < ' ' ? String.format(Locale.ROOT, "\\u%04x", (int) c) : String.valueOf(c));
            }
        }
        out.append('"');
    }
}
