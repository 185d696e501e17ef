package io.jrun.launcher.dashboard;

import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;

/** The parameters of a request, each name once. Immutable. */
record Query(Map<String, String> values) {
    static Query of(URI request) {
        Map<String, String> values = new HashMap<>();
        String raw = request.getRawQuery();
        for (String pair : raw == null ? new String[0] : raw.split("&", -1)) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                values.putIfAbsent(decoded(pair.substring(0, equals)), decoded(pair.substring(equals + 1)));
            }
        }
        return new Query(values);
    }

    private static String decoded(String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return "";
        }
    }

    /** A parameter; empty if it is missing. */
    String text(String name) {
        return values.getOrDefault(name, "");
    }

    /** A number; 0 if it is missing or no number. */
    long number(String name) {
        try {
            return Long.parseLong(text(name));
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    /** A rank; empty if it is missing or no number. */
    OptionalInt rank() {
        try {
            return OptionalInt.of(Integer.parseInt(text("rank")));
        } catch (NumberFormatException e) {
            return OptionalInt.empty();
        }
    }
}
