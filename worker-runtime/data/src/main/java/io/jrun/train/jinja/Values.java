package io.jrun.train.jinja;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The values of templates, with the meaning of Python: Long, Double, Boolean, String, List, Map, {@link None}, {@link
 * Undefined}, {@link Namespace}, {@link Callable}.
 */
final class Values {
    private Values() {}

    /** A value of JSON as a value of templates. */
    static Object of(@Nullable Object json) {
        return switch (json) {
            case null -> None.NONE;
            case Map<?, ?> map -> {
                Map<Object, Object> copy = new LinkedHashMap<>();
                map.forEach((key, value) -> copy.put(String.valueOf(key), of(value)));
                yield copy;
            }
            case List<?> list -> list.stream().map(Values::of).collect(Collectors.toCollection(ArrayList::new));
            case Integer number -> number.longValue();
            default -> json;
        };
    }

    /** Whether Python takes a value as true. */
    static boolean isTrue(Object value) {
        return switch (value) {
            case None _, Undefined _ -> false;
            case Boolean flag -> flag;
            case Long number -> number != 0;
            case Double number -> number != 0;
            case String text -> !text.isEmpty();
            case List<?> list -> !list.isEmpty();
            case Map<?, ?> map -> !map.isEmpty();
            default -> true;
        };
    }

    /** The text of a value in the output, as {@code str}. */
    static String text(Object value) {
        return switch (value) {
            case String text -> text;
            case Undefined _ -> "";
            default -> representation(value);
        };
    }

    /** As {@code repr}. */
    static String representation(Object value) {
        return switch (value) {
            case String text -> quoted(text);
            case None _ -> "None";
            case Undefined _ -> "Undefined";
            case Boolean flag -> flag ? "True" : "False";
            case Double number -> decimal(number);
            case List<?> list -> list.stream().map(Values::representation).collect(Collectors.joining(", ", "[", "]"));
            case Map<?, ?> map ->
                map.entrySet().stream()
                        .map(entry -> representation(entry.getKey()) + ": " + representation(entry.getValue()))
                        .collect(Collectors.joining(", ", "{", "}"));
            case Namespace _ -> "<namespace>";
            case Callable _ -> "<function>";
            default -> value.toString();
        };
    }

    private static String quoted(String text) {
        char quote = text.contains("'") && !text.contains("\"") ? '"' : '\'';
        StringBuilder quoted = new StringBuilder().append(quote);
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '\n' -> quoted.append("\\n");
                case '\t' -> quoted.append("\\t");
                case '\r' -> quoted.append("\\r");
                case '\\' -> quoted.append("\\\\");
                default -> quoted.append(c == quote ? "\\" + c : String.valueOf(c));
            }
        }
        return quoted.append(quote).toString();
    }

    /** As Python writes a float. */
    static String decimal(double number) {
        if (number == Math.rint(number) && Math.abs(number) < 1e16) {
            return String.format(Locale.ROOT, "%.1f", number);
        }
        String text = Double.toString(number);
        int exponentAt = text.indexOf('E');
        if (exponentAt < 0) {
            return text;
        }
        double size = Math.abs(number);
        if (size >= 1e-4 && size < 1e16) {
            return new java.math.BigDecimal(text).toPlainString();
        }
        int exponent = Integer.parseInt(text.substring(exponentAt + 1));
        String digits = text.substring(0, exponentAt).replaceAll("\\.0$", "");
        return digits + String.format(Locale.ROOT, "e%s%02d", exponent < 0 ? "-" : "+", Math.abs(exponent));
    }

    /** The word for the type of a value, for errors. */
    static String type(Object value) {
        return switch (value) {
            case Undefined undefined -> "undefined ('" + undefined.name() + "' has no value)";
            case None _ -> "none";
            case Boolean _ -> "a boolean";
            case Long _, Double _ -> "a number";
            case String _ -> "a text";
            case List<?> _ -> "a list";
            case Map<?, ?> _ -> "a mapping";
            case Callable _ -> "a function";
            default -> "an object";
        };
    }

    /** Equality of Python. */
    static boolean areEqual(Object a, Object b) {
        if (a instanceof Boolean flag) {
            return areEqual(flag ? 1L : 0L, b);
        }
        if (b instanceof Boolean flag) {
            return areEqual(a, flag ? 1L : 0L);
        }
        if (a instanceof Number one && b instanceof Number other && !(a instanceof Long && b instanceof Long)) {
            return one.doubleValue() == other.doubleValue();
        }
        if (a instanceof Undefined && b instanceof Undefined) {
            return true;
        }
        if (a instanceof List<?> left && b instanceof List<?> right) {
            if (left.size() != right.size()) {
                return false;
            }
            for (int i = 0; i < left.size(); i++) {
                if (!areEqual(left.get(i), right.get(i))) {
                    return false;
                }
            }
            return true;
        }
        return a.equals(b);
    }

    /** The order of numbers and of texts. */
    static int compare(Object a, Object b) {
        if (a instanceof Long one && b instanceof Long other) {
            return Long.compare(one, other);
        }
        if (a instanceof Number one && b instanceof Number other) {
            return Double.compare(one.doubleValue(), other.doubleValue());
        }
        if (a instanceof String one && b instanceof String other) {
            return one.compareTo(other);
        }
        throw new IllegalArgumentException("cannot order " + type(a) + " and " + type(b));
    }

    /** The elements of a list, the keys of a mapping, or the characters of a text. */
    static List<Object> elements(Object value) {
        return switch (value) {
            case List<?> list -> new ArrayList<>(list);
            case Map<?, ?> map -> new ArrayList<>(map.keySet());
            case String text -> text.codePoints().mapToObj(Character::toString).collect(Collectors.toList());
            case Undefined _ -> List.of();
            default -> throw new IllegalArgumentException("cannot go through " + type(value));
        };
    }

    /** As {@code len}. */
    static long length(Object value) {
        return switch (value) {
            case String text -> text.codePointCount(0, text.length());
            case List<?> list -> list.size();
            case Map<?, ?> map -> map.size();
            case Undefined _ -> 0;
            default -> throw new IllegalArgumentException(type(value) + " has no length");
        };
    }

    /** Whether a collection or a text contains a value. */
    static boolean contains(Object container, Object value) {
        return switch (container) {
            case String text when value instanceof String part -> text.contains(part);
            case Map<?, ?> map -> map.containsKey(value);
            case List<?> list -> list.stream().anyMatch(element -> areEqual(element, value));
            case Undefined _ -> false;
            default ->
                throw new IllegalArgumentException("cannot search for " + type(value) + " in " + type(container));
        };
    }

    /** {@code target.name}. */
    static Object attribute(Object target, String name) {
        if (target instanceof Undefined) {
            throw new IllegalArgumentException("cannot take '." + name + "' of " + type(target));
        }
        if (target instanceof Namespace namespace) {
            return namespace.get(name);
        }
        Callable method = Methods.of(target, name);
        if (method != null) {
            return method;
        }
        return target instanceof Map<?, ?> map && map.get(name) != null ? (Object) map.get(name) : new Undefined(name);
    }

    /** {@code target[key]}. */
    static Object item(Object target, Object key) {
        if (target instanceof Undefined) {
            throw new IllegalArgumentException("cannot take [" + representation(key) + "] of " + type(target));
        }
        if (target instanceof Map<?, ?> map && map.get(key) != null) {
            return (Object) map.get(key);
        }
        if (key instanceof Long index && (target instanceof List<?> || target instanceof String)) {
            List<Object> elements = elements(target);
            long place = index < 0 ? index + elements.size() : index;
            return place >= 0 && place < elements.size()
                    ? elements.get((int) place)
                    : new Undefined("element " + index);
        }
        return key instanceof String name ? attribute(target, name) : new Undefined(representation(key));
    }

    /** {@code target[from:to:by]}; a bound that is {@link None} is absent. */
    static Object slice(Object target, Object from, Object to, Object by) {
        if (!(target instanceof List || target instanceof String)) {
            throw new IllegalArgumentException("cannot take a slice of " + type(target));
        }
        List<Object> elements = elements(target);
        long step = by == None.NONE ? 1 : whole(by);
        if (step == 0) {
            throw new IllegalArgumentException("the step of a slice is 0");
        }
        long size = elements.size();
        long begin = bound(from, size, step > 0 ? 0 : size - 1, step);
        long end = bound(to, size, step > 0 ? size : -1, step);
        List<Object> taken = new ArrayList<>();
        for (long i = begin; step > 0 ? i < end : i > end; i += step) {
            taken.add(elements.get((int) i));
        }
        return target instanceof String ? taken.stream().map(String::valueOf).collect(Collectors.joining()) : taken;
    }

    private static long bound(Object given, long size, long fallback, long step) {
        if (given == None.NONE) {
            return fallback;
        }
        long number = whole(given);
        long place = number < 0 ? number + size : number;
        return step > 0 ? Math.clamp(place, 0, size) : Math.clamp(place, -1, size - 1);
    }

    /** A whole number. */
    static long whole(Object value) {
        return switch (value) {
            case Long number -> number;
            case Boolean flag -> flag ? 1 : 0;
            default -> throw new IllegalArgumentException("expected a whole number, not " + type(value));
        };
    }
}
