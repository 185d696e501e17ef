package io.jrun.comm.worker;

/**
 * Strings in JSON. This module depends on no JSON library, because its classes are on the user's class path. Stateless.
 */
final class JsonText {
    private JsonText() {}

    /** A JSON string: quotes, backslashes and control characters escaped. */
    static String quoted(String text) {
        StringBuilder json = new StringBuilder(text.length() + 16).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"', '\\' -> json.append('\\').append(c);
                case '\n' -> json.append("\\n");
                case '\t' -> json.append("\\t");
                case '\r' -> json.append("\\r");
                default -> {
                    if (c < ' ' || Character.isSurrogate(c)) {
                        json.append(String.format("\\u%04x", (int) c));
                    } else {
                        json.append(c);
                    }
                }
            }
        }
        return json.append('"').toString();
    }
}
