package io.jrun.launcher.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;

/** JSON for machines, on one line. Stateless. */
public final class JsonLine {
    private JsonLine() {}

    /** Maps, lists, texts, numbers and truth values as JSON. */
    public static String of(Object plain) {
        try {
            return new JsonMapper().writeValueAsString(plain);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("maps of plain values could not be written as JSON", e);
        }
    }
}
