package io.jrun.train.jinja;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The methods of texts, mappings and lists. Methods that change a value are missing, as in Jinja's sandbox. */
final class Methods {
    private static final Map<String, Function<Arguments, Function<String, Object>>> OF_TEXTS = Map.ofEntries(
            Map.entry("strip", a -> text -> strip(text, a, true, true)),
            Map.entry("lstrip", a -> text -> strip(text, a, true, false)),
            Map.entry("rstrip", a -> text -> strip(text, a, false, true)),
            Map.entry("upper", _ -> text -> text.toUpperCase(Locale.ROOT)),
            Map.entry("lower", _ -> text -> text.toLowerCase(Locale.ROOT)),
            Map.entry("title", _ -> Methods::title),
            Map.entry("capitalize", _ -> Methods::capitalized),
            Map.entry("startswith", a -> text -> anyPart(a, text::startsWith)),
            Map.entry("endswith", a -> text -> anyPart(a, text::endsWith)),
            Map.entry("split", a -> text -> split(text, a, false)),
            Map.entry("rsplit", a -> text -> split(text, a, true)),
            Map.entry(
                    "splitlines",
                    _ -> text -> text.isEmpty()
                            ? List.of()
                            : new ArrayList<>(text.lines().toList())),
            Map.entry("replace", a -> text -> replaced(text, a)),
            Map.entry("find", a -> text -> (long) text.indexOf(a.text(0, "sub"))),
            Map.entry("count", a -> text -> count(text, a.text(0, "sub"))),
            Map.entry("join", a -> text -> join(text, a.get(0, "iterable"))),
            Map.entry("isdigit", _ -> text -> !text.isEmpty() && text.chars().allMatch(Character::isDigit)),
            Map.entry("isalpha", _ -> text -> !text.isEmpty() && text.chars().allMatch(Character::isLetter)),
            Map.entry("isspace", _ -> text -> !text.isEmpty() && text.isBlank()),
            Map.entry(
                    "removeprefix",
                    a -> text -> text.startsWith(a.text(0, "prefix"))
                            ? text.substring(a.text(0, "prefix").length())
                            : text),
            Map.entry(
                    "removesuffix",
                    a -> text -> text.endsWith(a.text(0, "suffix"))
                            ? text.substring(
                                    0, text.length() - a.text(0, "suffix").length())
                            : text));

    private Methods() {}

    /** A method of a value; null if the value has no such method. */
    static @Nullable Callable of(Object target, String name) {
        return switch (target) {
            case String text
            when OF_TEXTS.get(name) != null -> {
                Function<Arguments, Function<String, Object>> method = OF_TEXTS.get(name);
                yield method == null
                        ? null
                        : (placed, named) ->
                                method.apply(new Arguments(placed, named)).apply(text);
            }
            case Map<?, ?> map -> ofMap(map, name);
            case List<?> list
            when name.equals("index") ->
                (placed, named) -> {
                    Object wanted = new Arguments(placed, named).get(0, "value");
                    for (int i = 0; i < list.size(); i++) {
                        if (Values.areEqual(list.get(i), wanted)) {
                            return (long) i;
                        }
                    }
                    throw new IllegalArgumentException(Values.representation(wanted) + " is not in the list");
                };
            case List<?> list
            when name.equals("count") ->
                (placed, named) -> {
                    Object wanted = new Arguments(placed, named).get(0, "value");
                    return list.stream()
                            .filter(element -> Values.areEqual(element, wanted))
                            .count();
                };
            default -> null;
        };
    }

    private static @Nullable Callable ofMap(Map<?, ?> map, String name) {
        return switch (name) {
            case "items" -> (_, _) -> items(map);
            case "keys" -> (_, _) -> new ArrayList<Object>(map.keySet());
            case "values" -> (_, _) -> new ArrayList<Object>(map.values());
            case "get" ->
                (placed, named) -> {
                    Arguments arguments = new Arguments(placed, named);
                    Object value = map.get(arguments.get(0, "key"));
                    return value == null ? arguments.get(1, "default", None.NONE) : value;
                };
            default -> null;
        };
    }

    /** The pairs of a mapping. */
    static List<Object> items(Map<?, ?> map) {
        return map.entrySet().stream()
                .map(entry -> List.<Object>of(entry.getKey(), entry.getValue()))
                .collect(Collectors.toCollection(ArrayList::new));
    }

    static String strip(String text, Arguments arguments, boolean atBegin, boolean atEnd) {
        Object given = arguments.get(0, "chars", None.NONE);
        String characters = given instanceof String some ? some : null;
        int begin = 0;
        int end = text.length();
        while (atBegin && begin < end && isStripped(text.charAt(begin), characters)) {
            begin++;
        }
        while (atEnd && end > begin && isStripped(text.charAt(end - 1), characters)) {
            end--;
        }
        return text.substring(begin, end);
    }

    private static boolean isStripped(char c, @Nullable String characters) {
        return characters == null ? Character.isWhitespace(c) || Character.isSpaceChar(c) : characters.indexOf(c) >= 0;
    }

    private static Object anyPart(Arguments arguments, java.util.function.Predicate<String> test) {
        return arguments.get(0, "prefix") instanceof List<?> parts
                ? parts.stream().anyMatch(part -> test.test(Values.text(part)))
                : test.test(arguments.text(0, "prefix"));
    }

    private static Object split(String text, Arguments arguments, boolean fromEnd) {
        Object separator = arguments.get(0, "sep", None.NONE);
        long most = Values.whole(arguments.get(1, "maxsplit", -1L));
        if (separator == None.NONE) {
            if (most >= 0) {
                throw new IllegalArgumentException("split with maxsplit needs a separator");
            }
            return new ArrayList<Object>(Arrays.stream(text.strip().split("\\s+"))
                    .filter(word -> !word.isEmpty())
                    .toList());
        }
        String by = Values.text(separator);
        if (by.isEmpty()) {
            throw new IllegalArgumentException("the separator of split is empty");
        }
        List<Object> parts = new ArrayList<>(List.of(text.split(Pattern.quote(by), -1)));
        while (most >= 0 && parts.size() > most + 1) {
            int at = fromEnd ? 0 : parts.size() - 2;
            parts.set(at, parts.get(at) + by + parts.remove(at + 1));
        }
        return parts;
    }

    static String replaced(String text, Arguments arguments) {
        String old = arguments.text(0, "old");
        String by = arguments.text(1, "new");
        Budget.requireLength(text.length()
                + (old.isEmpty() ? text.length() + 1L : count(text, old)) * Math.max(0L, by.length() - old.length()));
        Object most = arguments.get(2, "count", None.NONE);
        if (most == None.NONE) {
            return text.replace(old, by);
        }
        String result = text;
        int from = 0;
        for (long i = 0; i < Values.whole(most); i++) {
            int at = result.indexOf(old, from);
            if (at < 0) {
                break;
            }
            result = result.substring(0, at) + by + result.substring(at + old.length());
            from = at + by.length() + (old.isEmpty() ? 1 : 0);
        }
        return result;
    }

    private static long count(String text, String part) {
        return part.isEmpty()
                ? text.length() + 1L
                : (text.length() - text.replace(part, "").length()) / part.length();
    }

    static String join(String separator, Object elements) {
        List<String> parts =
                Values.elements(elements).stream().map(Values::text).toList();
        long length = parts.stream().mapToLong(String::length).sum() + (long) separator.length() * parts.size();
        Budget.requireLength(length);
        return String.join(separator, parts);
    }

    static String capitalized(String text) {
        return text.isEmpty()
                ? text
                : text.substring(0, 1).toUpperCase(Locale.ROOT)
                        + text.substring(1).toLowerCase(Locale.ROOT);
    }

    static String title(String text) {
        StringBuilder title = new StringBuilder();
        boolean isInside = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            title.append(isInside ? Character.toLowerCase(c) : Character.toUpperCase(c));
            isInside = Character.isLetter(c);
        }
        return title.toString();
    }
}
