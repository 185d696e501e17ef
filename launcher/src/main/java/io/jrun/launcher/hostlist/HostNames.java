package io.jrun.launcher.hostlist;

import java.util.ArrayList;
import java.util.List;

/**
 * One expression of Slurm's host list grammar: {@code gpu[01-04,07]} is gpu01 to gpu04 and gpu07. Brackets may come several
 * times and anywhere. Stateless. Source: slurm 25.11, src/common/hostlist.c; the order of several brackets is that of
 * {@code scontrol show hostnames}.
 */
final class HostNames {
    /** Slurm's own limit, of one range as of all names together. */
    static final int MOST = 65_536;

    /** Longer numbers count no hosts. */
    private static final int MOST_DIGITS = 18;

    /** DNS allows 253 characters. */
    private static final int MOST_CHARS = 255;

    /** Far above what clusters number: rack, chassis, board, node. */
    private static final int MOST_BRACKETS = 16;

    private HostNames() {}

    /** The names of {@code expression} in order, at most {@value #MOST}, duplicates kept. */
    static List<String> expand(String expression) {
        if (expression.chars().filter(c -> c == '[').count() > MOST_BRACKETS) {
            throw unusable(expression, "it has more than " + MOST_BRACKETS + " brackets");
        }
        int close = expression.lastIndexOf(']');
        int open = expression.lastIndexOf('[');
        if (close < 0 && open < 0) {
            return List.of(checked(expression, expression));
        }
        if (open < 0 || close < open) {
            throw unusable(expression, "its brackets do not match");
        }
        List<String> last = numbers(expression.substring(open + 1, close), expression);
        String suffix = checked(expression.substring(close + 1), expression);
        List<String> names = new ArrayList<>();
        for (String prefix : prefixes(expression.substring(0, open), expression)) {
            for (String number : last) {
                names.add(prefix + number + suffix);
                limit(names, expression);
            }
        }
        return names;
    }

    /** Of several brackets the last varies first, then the first, and the last but one at last: as Slurm has it. */
    private static List<String> prefixes(String text, String expression) {
        int close = text.lastIndexOf(']');
        int open = text.lastIndexOf('[');
        if (close < 0 && open < 0) {
            return List.of(checked(text, expression));
        }
        if (open < 0 || close < open) {
            throw unusable(expression, "its brackets do not match");
        }
        String after = checked(text.substring(close + 1), expression);
        List<String> before = prefixes(text.substring(0, open), expression);
        List<String> prefixes = new ArrayList<>();
        for (String number : numbers(text.substring(open + 1, close), expression)) {
            for (String prefix : before) {
                prefixes.add(prefix + number + after);
                limit(prefixes, expression);
            }
        }
        return prefixes;
    }

    /** {@code 01-04,07}: numbers keep the width of a range's first. */
    private static List<String> numbers(String ranges, String expression) {
        List<String> numbers = new ArrayList<>();
        for (String range : ranges.split(",", -1)) {
            int dash = range.indexOf('-');
            String low = dash < 0 ? range : range.substring(0, dash);
            long first = number(low, expression);
            long last = dash < 0 ? first : number(range.substring(dash + 1), expression);
            if (last < first) {
                throw unusable(expression, "the range " + range + " goes down");
            }
            if (last - first >= MOST) {
                throw unusable(expression, "the range " + range + " has more than " + MOST + " hosts");
            }
            String format = "%0" + low.length() + "d";
            for (long number = first; number <= last; number++) {
                numbers.add(format.formatted(number));
                limit(numbers, expression);
            }
        }
        return numbers;
    }

    private static long number(String digits, String expression) {
        if (!digits.matches("[0-9]{1," + MOST_DIGITS + "}")) {
            throw unusable(expression, "brackets hold decimal numbers and ranges, as [01-04,07], not '" + digits + "'");
        }
        return Long.parseLong(digits);
    }

    private static String checked(String part, String expression) {
        if (!part.matches("[A-Za-z0-9._-]*")) {
            throw unusable(expression, "a host's name has letters, digits, dots, dashes and underscores");
        }
        if (part.length() > MOST_CHARS) {
            throw unusable(expression, "a host's name has at most " + MOST_CHARS + " characters");
        }
        return part;
    }

    private static void limit(List<String> names, String expression) {
        if (names.getLast().length() > MOST_CHARS) {
            throw unusable(expression, "a host's name has at most " + MOST_CHARS + " characters");
        }
        if (names.size() > MOST) {
            throw unusable(expression, "it has more than " + MOST + " hosts");
        }
    }

    private static HostSyntaxException unusable(String expression, String why) {
        return new HostSyntaxException("'" + expression + "': " + why);
    }
}
