package io.jrun.train.jinja;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The filters of templates. Errors are IllegalArgumentExceptions in one line. */
final class Filters {
    private static final Pattern WORD = Pattern.compile("[^-\\s({\\[<]+");

    private Filters() {}

    /** A filter with a value and arguments. */
    @FunctionalInterface
    interface Filter {
        Object apply(Object value, Arguments arguments);
    }

    /** A filter by name; null if there is none. */
    static @Nullable Filter of(String name) {
        return switch (name) {
            case "trim" -> (value, a) -> Methods.strip(Values.text(value), a, true, true);
            case "upper" -> (value, _) -> Values.text(value).toUpperCase(Locale.ROOT);
            case "lower" -> (value, _) -> Values.text(value).toLowerCase(Locale.ROOT);
            case "capitalize" -> (value, _) -> Methods.capitalized(Values.text(value));
            case "title" -> (value, _) -> title(Values.text(value));
            case "string" -> (value, _) -> Values.text(value);
            case "safe" -> (value, _) -> value;
            case "replace" -> (value, a) -> Methods.replaced(Values.text(value), a);
            case "indent" -> Filters::indented;
            case "tojson" -> (value, a) -> Json.text(value, a.get(0, "indent", None.NONE));
            case "default", "d" -> Filters::orDefault;
            case "int" -> Filters::whole;
            case "float" -> Filters::decimal;
            case "abs" ->
                (value, _) -> value instanceof Double n ? (Object) Math.abs(n) : (Object) Math.abs(Values.whole(value));
            default -> ofCollections(name);
        };
    }

    private static @Nullable Filter ofCollections(String name) {
        return switch (name) {
            case "length", "count" -> (value, _) -> Values.length(value);
            case "first" -> (value, _) -> at(Values.elements(value), 0);
            case "last" ->
                (value, _) -> {
                    List<Object> elements = Values.elements(value);
                    return at(elements, elements.size() - 1);
                };
            case "list" -> (value, _) -> Values.elements(value);
            case "items" -> (value, _) -> value instanceof Map<?, ?> map ? Methods.items(map) : List.of();
            case "dictsort" ->
                (value, _) -> sorted(Methods.items((Map<?, ?>) value), pair -> Values.item(pair, 0L), true);
            case "join" ->
                (value, a) ->
                        Methods.join(Values.text(a.get(0, "d", "")), mapped(value, a.get(1, "attribute", None.NONE)));
            case "reverse" ->
                (value, _) -> {
                    List<Object> elements = Values.elements(value);
                    Collections.reverse(elements);
                    return value instanceof String ? Methods.join("", elements) : elements;
                };
            case "sort" ->
                (value, a) -> {
                    List<Object> sorted = sorted(
                            Values.elements(value),
                            key(a.get(2, "attribute", None.NONE)),
                            !Values.isTrue(a.get(1, "case_sensitive", false)));
                    if (Values.isTrue(a.get(0, "reverse", false))) {
                        Collections.reverse(sorted);
                    }
                    return sorted;
                };
            case "unique" ->
                (value, _) -> {
                    Set<Object> seen = new LinkedHashSet<>();
                    return Values.elements(value).stream()
                            .filter(seen::add)
                            .collect(Collectors.toCollection(ArrayList::new));
                };
            case "sum" ->
                (value, a) -> Values.elements(mapped(value, a.get(0, "attribute", None.NONE))).stream()
                        .reduce(a.get(1, "start", 0L), (sum, next) -> Operators.apply("+", sum, next));
            case "min" -> (value, a) -> extreme(value, a, Collections::min);
            case "max" -> (value, a) -> extreme(value, a, Collections::max);
            case "map" ->
                (value, a) -> a.has(0, "filter")
                        ? Values.elements(value).stream()
                                .map(element -> required(a.text(0, "filter")).apply(element, rest(a)))
                                .collect(Collectors.toCollection(ArrayList::new))
                        : mapped(value, a.get(0, "attribute"));
            case "select" -> (value, a) -> kept(value, test(a, 0), true);
            case "reject" -> (value, a) -> kept(value, test(a, 0), false);
            case "selectattr" -> (value, a) -> kept(value, ofAttribute(a), true);
            case "rejectattr" -> (value, a) -> kept(value, ofAttribute(a), false);
            default -> null;
        };
    }

    private static Filter required(String name) {
        Filter filter = of(name);
        if (filter == null) {
            throw new IllegalArgumentException("there is no filter '" + name + "'");
        }
        return filter;
    }

    private static Arguments rest(Arguments all) {
        return new Arguments(all.placed().subList(1, all.placed().size()), all.named());
    }

    private static Object at(List<Object> elements, int place) {
        return place >= 0 && place < elements.size()
                ? elements.get(place)
                : new Undefined("an element of an empty list");
    }

    private static Object mapped(Object value, Object attribute) {
        return attribute == None.NONE
                ? value
                : Values.elements(value).stream()
                        .map(element -> path(element, Values.text(attribute)))
                        .collect(Collectors.toCollection(ArrayList::new));
    }

    /** {@code a.b} of an element. */
    private static Object path(Object element, String path) {
        Object value = element;
        for (String name : path.split("\\.", -1)) {
            value = Values.item(value, name);
        }
        return value;
    }

    private static List<Object> kept(Object value, Predicate<Object> test, boolean wanted) {
        return Values.elements(value).stream()
                .filter(element -> test.test(element) == wanted)
                .collect(Collectors.toCollection(ArrayList::new));
    }

    private static Predicate<Object> ofAttribute(Arguments arguments) {
        String attribute = arguments.text(0, "attribute");
        Predicate<Object> test = test(arguments, 1);
        return element -> test.test(path(element, attribute));
    }

    private static Predicate<Object> test(Arguments arguments, int place) {
        if (!arguments.has(place, "test")) {
            return Values::isTrue;
        }
        Tests.Test test = Tests.required(arguments.text(place, "test"));
        List<Object> more =
                arguments.placed().subList(place + 1, arguments.placed().size());
        return element -> test.holds(element, more);
    }

    private static List<Object> sorted(List<Object> elements, UnaryOperator<Object> key, boolean ignoresCase) {
        return elements.stream().sorted(order(key, ignoresCase)).collect(Collectors.toCollection(ArrayList::new));
    }

    /** The order compares an attribute of the elements, or the elements. */
    private static UnaryOperator<Object> key(Object attribute) {
        return element -> attribute == None.NONE ? element : path(element, Values.text(attribute));
    }

    private static Comparator<Object> order(UnaryOperator<Object> key, boolean ignoresCase) {
        return (a, b) -> Values.compare(folded(key.apply(a), ignoresCase), folded(key.apply(b), ignoresCase));
    }

    /** The first of the least or of the largest elements. Case counts only if the arguments say so. */
    private static Object extreme(
            Object value, Arguments arguments, BiFunction<List<Object>, Comparator<Object>, Object> search) {
        List<Object> elements = Values.elements(value);
        boolean ignoresCase = !Values.isTrue(arguments.get(0, "case_sensitive", false));
        return elements.isEmpty()
                ? at(elements, 0)
                : search.apply(elements, order(key(arguments.get(1, "attribute", None.NONE)), ignoresCase));
    }

    private static Object folded(Object key, boolean ignoresCase) {
        return ignoresCase && key instanceof String text ? text.toLowerCase(Locale.ROOT) : key;
    }

    /** Words behind blanks, dashes and opening brackets begin with a capital. The other letters are small. */
    private static String title(String text) {
        return WORD.matcher(text).replaceAll(word -> Matcher.quoteReplacement(Methods.capitalized(word.group())));
    }

    private static Object orDefault(Object value, Arguments arguments) {
        boolean isMissing = value instanceof Undefined
                || (Values.isTrue(arguments.get(1, "boolean", false)) && !Values.isTrue(value));
        return isMissing ? arguments.get(0, "default_value", "") : value;
    }

    private static Object whole(Object value, Arguments arguments) {
        try {
            return switch (value) {
                case Long number -> number;
                case Boolean flag -> flag ? 1L : 0L;
                case Double number -> (long) (double) number;
                case String text -> (long) Double.parseDouble(text.strip());
                default -> arguments.get(0, "default", 0L);
            };
        } catch (NumberFormatException _) {
            return arguments.get(0, "default", 0L);
        }
    }

    private static Object decimal(Object value, Arguments arguments) {
        try {
            return switch (value) {
                case Number number -> number.doubleValue();
                case Boolean flag -> flag ? 1.0 : 0.0;
                case String text -> Double.parseDouble(text.strip());
                default -> arguments.get(0, "default", 0.0);
            };
        } catch (NumberFormatException _) {
            return arguments.get(0, "default", 0.0);
        }
    }

    private static Object indented(Object value, Arguments arguments) {
        Object width = arguments.get(0, "width", 4L);
        String by = width instanceof String text ? text : " ".repeat(Math.clamp(Values.whole(width), 0, 1000));
        boolean first = Values.isTrue(arguments.get(1, "first", false));
        boolean blank = Values.isTrue(arguments.get(2, "blank", false));
        String[] lines = Values.text(value).split("\n", -1);
        Budget.requireLength(Values.length(Values.text(value)) + (long) lines.length * by.length());
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < lines.length; i++) {
            boolean isIndented = (i > 0 || first) && (blank || i == 0 || !lines[i].isEmpty());
            all.append(i > 0 ? "\n" : "").append(isIndented ? by : "").append(lines[i]);
        }
        return all.toString();
    }
}
