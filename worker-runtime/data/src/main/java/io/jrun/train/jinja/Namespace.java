package io.jrun.train.jinja;

import java.util.LinkedHashMap;
import java.util.Map;

/** The object of {@code namespace()}, whose attributes a template can set. The variable {@code loop} is one too. */
final class Namespace {
    private final Map<String, Object> values = new LinkedHashMap<>();

    Namespace(Map<String, Object> values) {
        this.values.putAll(values);
    }

    Object get(String name) {
        Object value = values.get(name);
        return value == null ? new Undefined(name) : value;
    }

    void set(String name, Object value) {
        values.put(name, value);
    }
}
