package io.jrun.launcher.event;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a JSON object by name. A field that is missing, or of another type, has the value 0, false or empty: an
 * older or newer minor version of the schema may lack the field.
 */
record JsonFields(Map<?, ?> values) {
    String text(String name) {
        return values.get(name) instanceof String text ? text : "";
    }

    long number(String name) {
        return values.get(name) instanceof Number number ? number.longValue() : 0;
    }

    int integer(String name) {
        return (int) number(name);
    }

    double real(String name) {
        return real(values.get(name));
    }

    /** Reads NaN and infinity from texts, because JSON has no such numbers. */
    private static double real(@Nullable Object value) {
        return switch (value) {
            case Number number -> number.doubleValue();
            case String text when text.matches("NaN|-?Infinity") -> Double.parseDouble(text);
            case null, default -> 0;
        };
    }

    boolean truth(String name) {
        return values.get(name) instanceof Boolean truth && truth;
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    List<String> texts(String name) {
        List<String> texts = new ArrayList<>();
        if (values.get(name) instanceof List<?> list) {
            list.forEach(element -> texts.add(String.valueOf(element)));
        }
        return texts;
    }

    Map<String, Double> reals(String name) {
        Map<String, Double> reals = new LinkedHashMap<>();
        if (values.get(name) instanceof Map<?, ?> map) {
            map.forEach((key, value) -> reals.put(String.valueOf(key), real(value)));
        }
        return reals;
    }

    JsonFields object(String name) {
        return new JsonFields(values.get(name) instanceof Map<?, ?> map ? map : Map.of());
    }

    List<JsonFields> objects(String name) {
        List<JsonFields> objects = new ArrayList<>();
        if (values.get(name) instanceof List<?> list) {
            for (Object element : list) {
                objects.add(new JsonFields(element instanceof Map<?, ?> map ? map : Map.of()));
            }
        }
        return objects;
    }
}
