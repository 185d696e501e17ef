package io.jrun.launcher.cli;

import io.jrun.launcher.job.StreamChoice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Reads the text of options. Every refusal names the option, the text, and what would do. Stateless. */
final class Values {
    private static final int MAX_RANK = 1_000_000;

    private Values() {}

    static boolean isTrue(String text, String name) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "1", "true", "yes", "on" -> true;
            case "0", "false", "no", "off" -> false;
            default -> throw refused(name, text, "true or false");
        };
    }

    static int count(String text, String name, int least, int most) {
        try {
            int value = Integer.parseInt(text.strip());
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException e) {
            // falls through to the message that fits both
        }
        throw refused(
                name,
                text,
                most == Integer.MAX_VALUE
                        ? "a whole number, at least " + least
                        : "a whole number from " + least + " to " + most);
    }

    /** A time: seconds, or a number with the unit ms, s, m or h. */
    static Duration time(String text, String name) {
        String stripped = text.strip();
        int digits = 0;
        while (digits < stripped.length()
                && (Character.isDigit(stripped.charAt(digits)) || stripped.charAt(digits) == '.')) {
            digits++;
        }
        try {
            double number = Double.parseDouble(stripped.substring(0, digits));
            double millis = number
                    * switch (stripped.substring(digits)) {
                        case "", "s" -> 1_000;
                        case "ms" -> 1;
                        case "m" -> 60_000;
                        case "h" -> 3_600_000;
                        default -> Double.NaN;
                    };
            if (millis >= 0 && millis <= 1e12) {
                return Duration.ofMillis(Math.round(millis));
            }
        } catch (NumberFormatException e) {
            // falls through to the message that fits both
        }
        throw refused(name, text, "seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h");
    }

    /** A list of ranks: {@code 0,2-5}. */
    static Set<Integer> ranks(String text, String name) {
        Set<Integer> ranks = new TreeSet<>();
        for (String part : text.split(",", -1)) {
            String[] ends = part.strip().split("-", 2);
            int first = rank(ends[0], text, name);
            int last = ends.length == 1 ? first : rank(ends[1], text, name);
            if (last < first || last - first > MAX_RANK) {
                throw refused(name, text, "ranks like 0,2-5");
            }
            for (int rank = first; rank <= last; rank++) {
                ranks.add(rank);
            }
        }
        return ranks;
    }

    private static int rank(String part, String text, String name) {
        try {
            int rank = Integer.parseInt(part.strip());
            if (rank >= 0) {
                return rank;
            }
        } catch (NumberFormatException e) {
            // falls through
        }
        throw refused(name, text, "ranks like 0,2-5");
    }

    /** torchrun's stream choice: {@code 3}, or {@code 0:3,11:1} by local rank. */
    static StreamChoice streams(String text, String name) {
        if (!text.contains(":")) {
            return new StreamChoice(streamBits(text, text, name), Map.of());
        }
        TreeMap<Integer, Integer> byLocalRank = new TreeMap<>();
        for (String part : text.split(",", -1)) {
            int colon = part.indexOf(':');
            if (colon < 1) {
                throw streamsRefused(name, text);
            }
            try {
                int localRank = Integer.parseInt(part.substring(0, colon).strip());
                byLocalRank.put(localRank, streamBits(part.substring(colon + 1), text, name));
            } catch (NumberFormatException e) {
                throw streamsRefused(name, text);
            }
        }
        return new StreamChoice(0, byLocalRank);
    }

    private static int streamBits(String part, String text, String name) {
        return switch (part.strip()) {
            case "0" -> 0;
            case "1" -> StreamChoice.STDOUT;
            case "2" -> StreamChoice.STDERR;
            case "3" -> StreamChoice.STDOUT | StreamChoice.STDERR;
            default -> throw streamsRefused(name, text);
        };
    }

    private static UsageException streamsRefused(String name, String text) {
        return refused(name, text, "0, 1, 2 or 3, or such numbers by local rank: 0:3,11:1");
    }

    /** Splits like a POSIX shell without expansions: blanks separate, quotes and backslashes protect. */
    static List<String> shellWords(String text, String name) {
        List<String> words = new ArrayList<>();
        StringBuilder word = new StringBuilder();
        boolean inWord = false;
        char quote = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quote == 0 && Character.isWhitespace(c)) {
                if (inWord) {
                    words.add(word.toString());
                    word.setLength(0);
                    inWord = false;
                }
                continue;
            }
            inWord = true;
            if (quote != 0 && c == quote) {
                quote = 0;
            } else if (quote == 0 && (c == '\'' || c == '"')) {
                quote = c;
            } else if (c == '\\' && quote != '\'' && i + 1 < text.length()) {
                i++;
                word.append(text.charAt(i));
            } else {
                word.append(c);
            }
        }
        if (quote != 0) {
            throw refused(name, text, "the closing " + quote);
        }
        if (inWord) {
            words.add(word.toString());
        }
        return words;
    }

    static UsageException refused(String name, String text, String expected) {
        return new UsageException(name + ": '" + text + "' is not usable; give " + expected + ".");
    }
}
