package io.jrun.launcher.hostlist;

import java.util.ArrayList;
import java.util.List;

/**
 * One expression of Slurm's host list grammar: {@code gpu[01-04,07]} is gpu01 to gpu04 and gpu07. An expression may
 * have several brackets at any place. Stateless. Source: slurm 25.11, src/common/hostlist.c. The order of several
 * brackets is the order of {@code scontrol show hostnames}.
 */
final class HostNames {
    /** Slurm's limit, for one range and for all names together. */
    static final int MAX_HOSTS = 65_536;

    /** The limit of digits in a number. Every number of 18 digits fits into a long. */
    private static final int MAX_DIGITS = 18;

    /** The limit of characters in a name; DNS allows 253. */
    private static final int MAX_CHARACTERS = 255;

    /** The limit of brackets. Clusters use up to four: rack, chassis, board, node. */
    private static final int MAX_BRACKETS = 16;

    private HostNames() {}

    /** Returns the names of {@code expression} in order, at most {@value #MAX_HOSTS}. Duplicates stay. */
    static List<String> expand(String expression) {
        if (expression.chars().filter(c -> c == '[').count() > MAX_BRACKETS) {
            throw unusable(expression, "the expression has more than " + MAX_BRACKETS + " brackets");
        }
        int close = expression.lastIndexOf(']');
        int open = expression.lastIndexOf('[');
        if (close < 0 && open < 0) {
            return List.of(checked(expression, expression));
        }
        if (open < 0 || close < open) {
            throw unusable(expression, "the brackets do not match");
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

    /**
     * Expands the brackets in Slurm's order: the last bracket varies first, then the first bracket, and so on to the
     * last but one.
     */
    private static List<String> prefixes(String text, String expression) {
        int close = text.lastIndexOf(']');
        int open = text.lastIndexOf('[');
        if (close < 0 && open < 0) {
            return List.of(checked(text, expression));
        }
        if (open < 0 || close < open) {
            throw unusable(expression, "the brackets do not match");
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

    /** Expands {@code 01-04,07}. All numbers of a range have the width of its first number. */
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
            if (last - first >= MAX_HOSTS) {
                throw unusable(expression, "the range " + range + " has more than " + MAX_HOSTS + " hosts");
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
        if (!digits.matches("[0-9]{1," + MAX_DIGITS + "}")) {
            throw unusable(
                    expression, "brackets hold decimal numbers and ranges, such as [01-04,07], not '" + digits + "'");
        }
        return Long.parseLong(digits);
    }

    private static String checked(String part, String expression) {
        if (!part.matches("[A-Za-z0-9._-]*")) {
            throw unusable(expression, "a host's name has letters, digits, dots, dashes and underscores");
        }
        if (part.length() > MAX_CHARACTERS) {
            throw unusable(expression, "a host's name has at most " + MAX_CHARACTERS + " characters");
        }
        return part;
    }

    private static void limit(List<String> names, String expression) {
        if (names.getLast().length() > MAX_CHARACTERS) {
            throw unusable(expression, "a host's name has at most " + MAX_CHARACTERS + " characters");
        }
        if (names.size() > MAX_HOSTS) {
            throw unusable(expression, "the expression has more than " + MAX_HOSTS + " hosts");
        }
    }

    private static HostSyntaxException unusable(String expression, String why) {
        return new HostSyntaxException("'" + expression + "': " + why);
    }
}
