package io.jrun.train.jinja;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The tests of templates, behind {@code is}. */
final class Tests {
    private Tests() {}

    /** A test of a value with arguments. */
    @FunctionalInterface
    interface Test {
        boolean holds(Object value, List<Object> arguments);
    }

    static Test required(String name) {
        Test test = of(name);
        if (test == null) {
            throw new IllegalArgumentException("there is no test '" + name + "'");
        }
        return test;
    }

    /** A test by name; null if there is none. */
    static @Nullable Test of(String name) {
        return switch (name) {
            case "defined" -> (value, _) -> !(value instanceof Undefined);
            case "undefined" -> (value, _) -> value instanceof Undefined;
            case "none" -> (value, _) -> value == None.NONE;
            case "boolean" -> (value, _) -> value instanceof Boolean;
            case "true" -> (value, _) -> Boolean.TRUE.equals(value);
            case "false" -> (value, _) -> Boolean.FALSE.equals(value);
            case "string" -> (value, _) -> value instanceof String;
            case "number" -> (value, _) -> value instanceof Number || value instanceof Boolean;
            case "integer" -> (value, _) -> value instanceof Long;
            case "float" -> (value, _) -> value instanceof Double;
            case "mapping" -> (value, _) -> value instanceof Map;
            case "iterable", "sequence" ->
                (value, _) -> value instanceof List
                        || value instanceof Map
                        || value instanceof String
                        || value instanceof Undefined;
            case "callable" -> (value, _) -> value instanceof Callable;
            case "odd" -> (value, _) -> Math.floorMod(Values.whole(value), 2) == 1;
            case "even" -> (value, _) -> Math.floorMod(Values.whole(value), 2) == 0;
            case "divisibleby" -> (value, a) -> Math.floorMod(Values.whole(value), Values.whole(first(a))) == 0;
            case "lower" ->
                (value, _) -> isCased(Values.text(value), Values.text(value).toLowerCase(Locale.ROOT));
            case "upper" ->
                (value, _) -> isCased(Values.text(value), Values.text(value).toUpperCase(Locale.ROOT));
            case "sameas" -> (value, a) -> value.equals(first(a));
            case "in" -> (value, a) -> Values.contains(first(a), value);
            case "eq", "equalto", "==" -> (value, a) -> Values.areEqual(value, first(a));
            case "ne", "!=" -> (value, a) -> !Values.areEqual(value, first(a));
            case "lt", "lessthan", "<" -> (value, a) -> Values.compare(value, first(a)) < 0;
            case "le", "<=" -> (value, a) -> Values.compare(value, first(a)) <= 0;
            case "gt", "greaterthan", ">" -> (value, a) -> Values.compare(value, first(a)) > 0;
            case "ge", ">=" -> (value, a) -> Values.compare(value, first(a)) >= 0;
            default -> null;
        };
    }

    /** As Python's {@code islower} and {@code isupper}: the text has the case, and a letter that has a case. */
    private static boolean isCased(String text, String expected) {
        return text.equals(expected)
                && text.codePoints().anyMatch(c -> Character.isLowerCase(c) || Character.isUpperCase(c));
    }

    private static Object first(List<Object> arguments) {
        if (arguments.isEmpty()) {
            throw new IllegalArgumentException("the test needs an argument");
        }
        return arguments.getFirst();
    }
}
