package io.jrun.train.jinja;

import java.util.List;
import java.util.Map;

/** The arguments of a call, by place or by name. */
record Arguments(List<Object> placed, Map<String, Object> named) {
    /** An argument, or its default. */
    Object get(int place, String name, Object fallback) {
        return placed.size() > place ? placed.get(place) : named.getOrDefault(name, fallback);
    }

    /** An argument that must be there. */
    Object get(int place, String name) {
        Object value = placed.size() > place ? placed.get(place) : named.get(name);
        if (value == null) {
            throw new IllegalArgumentException("the argument '" + name + "' is missing");
        }
        return value;
    }

    /** A text that must be there. */
    String text(int place, String name) {
        if (get(place, name) instanceof String text) {
            return text;
        }
        throw new IllegalArgumentException(
                "the argument '" + name + "' is " + Values.type(get(place, name)) + ", expected a text");
    }

    boolean has(int place, String name) {
        return placed.size() > place || named.containsKey(name);
    }
}
