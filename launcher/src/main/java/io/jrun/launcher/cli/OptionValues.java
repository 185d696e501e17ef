package io.jrun.launcher.cli;

import io.jrun.agent.log.LogLimit;
import io.jrun.launcher.job.LogRetention;
import io.jrun.launcher.job.StdinChoice;
import io.jrun.launcher.job.StreamChoice;
import io.jrun.launcher.job.UsageException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the values of options. Every error names the option, the text, and the accepted form. Stateless. */
final class OptionValues {
    /** The limit of ranks in a filter. No job has as many ranks. */
    private static final int MOST_RANKS = 1_000_000;

    /** ASCII digits only. Java's parsers also accept a sign and the digits of all scripts. */
    private static final Pattern WHOLE_NUMBER = Pattern.compile("-?[0-9]{1,10}");

    private static final Pattern LEADING_ZEROS = Pattern.compile("-?0+([0-9][0-9.]*)[a-z]*");

    /** A time of at most 12 digits. 12 digits of seconds are 30,000 years, more than the limit of a time. */
    private static final Pattern CLOCK = Pattern.compile("(?:(?<days>[0-9]{1,4})-(?=[0-9])|(?=[0-9]+:))"
            + "(?<first>[0-9]{1,5})(?::(?<second>[0-5]?[0-9])(?::(?<third>[0-5]?[0-9]))?)?");

    private static final Pattern TIME = Pattern.compile("([0-9]{1,12}(?:\\.[0-9]{0,9})?|\\.[0-9]{1,9})(|ms|s|m|h)");

    private static final Pattern LOG_LIMIT = Pattern.compile("([1-9][0-9]{0,8})([kKmMgG]?)(?::([1-9][0-9]{0,3}))?");

    /** As containerLogMaxFiles of Kubernetes. */
    private static final int DEFAULT_LOG_FILES = 5;

    private static final String RANKS = "ranks like 0,2-5";

    private OptionValues() {}

    static boolean isTrue(String text, String name) {
        return switch (text.toLowerCase(Locale.ROOT)) {
            case "1", "true", "yes", "y", "on" -> true;
            case "0", "false", "no", "n", "off" -> false;
            default -> throw refused(name, text, "true or false");
        };
    }

    static int count(String text, String name, int least, int most) {
        refuseLeadingZeros(text, name);
        OptionalInt value = wholeNumber(text);
        if (value.isPresent() && value.getAsInt() >= least && value.getAsInt() <= most) {
            return value.getAsInt();
        }
        throw refused(
                name,
                text,
                most == Integer.MAX_VALUE
                        ? "a whole number, at least " + least
                        : "a whole number from " + least + " to " + most);
    }

    /** The number in {@code text}, empty if the text is not a number or the number is out of range. */
    private static OptionalInt wholeNumber(String text) {
        String stripped = text.strip();
        if (!WHOLE_NUMBER.matcher(stripped).matches()) {
            return OptionalInt.empty();
        }
        long value = Long.parseLong(stripped);
        return Math.abs(value) <= Integer.MAX_VALUE ? OptionalInt.of((int) value) : OptionalInt.empty();
    }

    /** Refuses leading zeros: 010 is eight in YAML 1.1 and C, and ten for people. */
    static void refuseLeadingZeros(String text, String name) {
        Matcher matcher = LEADING_ZEROS.matcher(text.strip());
        if (matcher.matches()) {
            throw new UsageException(
                    name + ": '" + text + "' is not usable, since some programs read a leading zero as octal;"
                            + " write it without: " + text.strip().replaceFirst("^(-?)0+(?=[0-9])", "$1") + ".");
        }
    }

    /**
     * Reads a time: seconds, a number with the unit ms, s, m or h, or a form of Slurm with a colon or a dash: MM:SS,
     * HH:MM:SS, D-HH, D-HH:MM and D-HH:MM:SS. A time above 0 is at least 1 ms.
     */
    static Duration time(String text, String name) {
        Matcher clock = CLOCK.matcher(text.strip());
        if (clock.matches()) {
            return ofClock(clock);
        }
        refuseLeadingZeros(text, name);
        Matcher matcher = TIME.matcher(text.strip());
        if (matcher.matches()) {
            double millis = Double.parseDouble(matcher.group(1))
                    * switch (matcher.group(2)) {
                        case "ms" -> 1;
                        case "m" -> 60_000;
                        case "h" -> 3_600_000;
                        default -> 1_000;
                    };
            if (millis <= 1e12) {
                return Duration.ofMillis(millis > 0 ? Math.max(1, Math.round(millis)) : 0);
            }
        }
        throw refused(name, text, "seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h, 1:30:00, 2-12");
    }

    /** Reads a time as Slurm does: a number alone is in minutes. */
    static Duration slurmTime(String text, String name) {
        String time = text.strip().replaceFirst("^0+(?=[0-9])", "");
        return time(time.matches("[0-9]+") ? time + "m" : time, name);
    }

    private static Duration ofClock(Matcher clock) {
        boolean hasDays = clock.group("days") != null;
        long first = clockNumber(clock, "first");
        long second = clockNumber(clock, "second");
        long third = clockNumber(clock, "third");
        boolean hasHours = hasDays || clock.group("third") != null;
        Duration time = hasHours
                ? Duration.ofHours(first).plusMinutes(second).plusSeconds(third)
                : Duration.ofMinutes(first).plusSeconds(second);
        return time.plusDays(clockNumber(clock, "days"));
    }

    private static long clockNumber(Matcher clock, String part) {
        String digits = clock.group(part);
        return digits == null ? 0 : Long.parseLong(digits);
    }

    /** Reads a list of ranks: {@code 0,2-5}. */
    static Set<Integer> ranks(String text, String name) {
        Set<Integer> ranks = new TreeSet<>();
        long named = 0;
        for (String part : text.split(",", -1)) {
            String[] ends = part.strip().split("-", 2);
            int first = rank(ends[0], text, name);
            int last = ends.length == 1 ? first : rank(ends[1], text, name);
            named += 1L + last - first;
            if (last < first) {
                throw refused(name, text, RANKS);
            }
            if (named > MOST_RANKS) {
                throw refused(name, text, RANKS + ", at most " + MOST_RANKS + " of them");
            }
            for (long rank = first; rank <= last; rank++) { // an int would not pass the largest int
                ranks.add((int) rank);
            }
        }
        return ranks;
    }

    private static int rank(String part, String text, String name) {
        refuseLeadingZeros(part, name);
        OptionalInt rank = wholeNumber(part);
        if (rank.isPresent() && rank.getAsInt() >= 0) {
            return rank.getAsInt();
        }
        throw refused(name, text, RANKS);
    }

    /** Reads the choice of streams in torchrun's form: {@code 3}, or {@code 0:3,11:1} by local rank. */
    static StreamChoice streams(String text, String name) {
        if (!text.contains(":")) {
            return new StreamChoice(streamBits(text, text, name), Map.of());
        }
        TreeMap<Integer, Integer> byLocalRank = new TreeMap<>();
        for (String part : text.split(",", -1)) {
            int colon = part.indexOf(':');
            OptionalInt localRank = colon < 1 ? OptionalInt.empty() : wholeNumber(part.substring(0, colon));
            if (localRank.isEmpty() || localRank.getAsInt() < 0) {
                throw streamsRefused(name, text);
            }
            refuseLeadingZeros(part.substring(0, colon), name);
            int bits = streamBits(part.substring(colon + 1), text, name);
            if (byLocalRank.put(localRank.getAsInt(), bits) != null) {
                throw refused(name, text, "each local rank once, and " + localRank.getAsInt() + " comes twice");
            }
        }
        return new StreamChoice(0, byLocalRank);
    }

    /** Reads the choice of streams of --tee. In srun the short name -t is the time limit. */
    static StreamChoice tee(String text, String name) {
        try {
            return streams(text, name);
        } catch (UsageException e) {
            throw new UsageException(e.getMessage() + " A time limit is --timeout, of 'jrun submit' also --time.");
        }
    }

    /** Reads the choice of streams of --redirects. In srun the short name -r chooses a node of the allocation. */
    static StreamChoice redirects(String text, String name) {
        try {
            return streams(text, name);
        } catch (UsageException e) {
            String advice = text.matches("[0-9]+") ? " The nodes of an allocation are chosen with --include." : "";
            throw new UsageException(e.getMessage() + advice);
        }
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

    /** Reads the workers that read the standard input: a rank, all or none. */
    static StdinChoice stdin(String text, String name) {
        if (text.equals("none")) {
            return StdinChoice.NONE;
        }
        if (text.equals("all")) {
            return StdinChoice.ALL;
        }
        refuseLeadingZeros(text, name);
        OptionalInt rank = wholeNumber(text);
        if (rank.isEmpty() || rank.getAsInt() < 0) {
            throw refused(name, text, "a rank, all or none");
        }
        return StdinChoice.of(rank.getAsInt());
    }

    /** Splits a text like a POSIX shell: blanks separate, quotes and backslashes protect. Expands nothing. */
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

    /** Reads the limit of a log: the size of a file, and the number of files. */
    static LogRetention logLimit(String text, String name) {
        Matcher matcher = LOG_LIMIT.matcher(text.strip());
        if (matcher.matches()) {
            long unit = switch (matcher.group(2).toUpperCase(Locale.ROOT)) {
                case "K" -> 1L << 10;
                case "M" -> 1L << 20;
                case "G" -> 1L << 30;
                default -> 1;
            };
            long bytes = Long.parseLong(matcher.group(1)) * unit;
            int files = matcher.group(3) == null ? DEFAULT_LOG_FILES : Integer.parseInt(matcher.group(3));
            if (bytes >= LogLimit.LEAST_BYTES && files >= LogLimit.LEAST_FILES && files <= LogLimit.MOST_FILES) {
                return new LogRetention(bytes, files);
            }
        }
        throw refused(
                name,
                text,
                "SIZE or SIZE:FILES, as 10M or 100M:3, with at least " + LogLimit.LEAST_BYTES + " bytes and "
                        + LogLimit.LEAST_FILES + " to " + LogLimit.MOST_FILES + " files");
    }

    static UsageException refused(String name, String text, String expected) {
        return new UsageException(name + ": '" + text + "' is not usable; give " + expected + ".");
    }
}
