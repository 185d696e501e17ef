package io.jrun.train.jinja;

import java.time.LocalDateTime;
import java.time.format.TextStyle;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The functions of templates. */
final class Functions {
    private static final long LONGEST_RANGE = 1_000_000;

    private Functions() {}

    /** The functions by name. */
    static Map<String, Object> all(LocalDateTime now) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("range", (Callable) (placed, _) -> range(placed));
        all.put("namespace", (Callable) (placed, named) -> new Namespace(merged(placed, named)));
        all.put("dict", (Callable) (placed, named) -> new LinkedHashMap<Object, Object>(merged(placed, named)));
        all.put("raise_exception", (Callable) (placed, named) -> {
            throw new IllegalArgumentException(
                    "the template refuses the messages: " + new Arguments(placed, named).text(0, "message"));
        });
        all.put("strftime_now", (Callable)
                (placed, named) -> formatted(now, new Arguments(placed, named).text(0, "format")));
        return all;
    }

    private static Map<String, Object> merged(List<Object> placed, Map<String, Object> named) {
        Map<String, Object> merged = new LinkedHashMap<>();
        if (!placed.isEmpty() && placed.getFirst() instanceof Map<?, ?> map) {
            map.forEach((key, value) -> merged.put(Values.text(key), value));
        }
        merged.putAll(named);
        return merged;
    }

    private static Object range(List<Object> placed) {
        if (placed.isEmpty()) {
            throw new IllegalArgumentException("range needs a number");
        }
        long from = placed.size() > 1 ? Values.whole(placed.get(0)) : 0;
        long to = Values.whole(placed.get(placed.size() > 1 ? 1 : 0));
        long by = placed.size() > 2 ? Values.whole(placed.get(2)) : 1;
        if (by == 0 || Math.abs((to - from) / by) > LONGEST_RANGE) {
            throw new IllegalArgumentException("range has more than " + LONGEST_RANGE + " numbers");
        }
        List<Object> numbers = new ArrayList<>();
        for (long i = from; by > 0 ? i < to : i > to; i += by) {
            numbers.add(i);
        }
        return numbers;
    }

    /** As Python's {@code strftime} in English. */
    private static String formatted(LocalDateTime now, String format) {
        StringBuilder text = new StringBuilder();
        int at = 0;
        while (at < format.length()) {
            boolean isPart = format.charAt(at) == '%' && at + 1 < format.length();
            text.append(isPart ? part(now, format.charAt(at + 1)) : String.valueOf(format.charAt(at)));
            at += isPart ? 2 : 1;
        }
        return text.toString();
    }

    private static String part(LocalDateTime now, char letter) {
        return switch (letter) {
            case 'd' -> twoDigits(now.getDayOfMonth());
            case 'm' -> twoDigits(now.getMonthValue());
            case 'Y' -> Integer.toString(now.getYear());
            case 'y' -> twoDigits(now.getYear() % 100);
            case 'H' -> twoDigits(now.getHour());
            case 'M' -> twoDigits(now.getMinute());
            case 'S' -> twoDigits(now.getSecond());
            case 'b' -> now.getMonth().getDisplayName(TextStyle.SHORT, Locale.ENGLISH);
            case 'B' -> now.getMonth().getDisplayName(TextStyle.FULL, Locale.ENGLISH);
            case 'a' -> now.getDayOfWeek().getDisplayName(TextStyle.SHORT, Locale.ENGLISH);
            case 'A' -> now.getDayOfWeek().getDisplayName(TextStyle.FULL, Locale.ENGLISH);
            case '%' -> "%";
            default -> throw new IllegalArgumentException("strftime_now does not know %" + letter);
        };
    }

    private static String twoDigits(int number) {
        return String.format(Locale.ROOT, "%02d", number);
    }
}
