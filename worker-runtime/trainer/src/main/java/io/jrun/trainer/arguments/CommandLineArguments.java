package io.jrun.trainer.arguments;

import io.jrun.comm.spelling.SimilarName;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.DoublePredicate;
import java.util.stream.Collectors;

/**
 * {@code --name value}, {@code --name=value} and {@code --flag}, checked against the known names. A name that is a flag
 * and takes a value has the value behind {@code =}.
 */
public final class CommandLineArguments {
    private static final double LARGEST_RATE = 1e30;

    private final Map<String, String> values = new HashMap<>();
    private final Map<String, List<String>> allValues = new HashMap<>();

    private CommandLineArguments() {}

    /**
     * Splits the arguments of a command line.
     *
     * @param valued names that take a value
     * @param flags names that take no value
     * @throws InvalidArgumentException if an argument is unknown or incomplete; the message names the argument
     */
    public static CommandLineArguments parse(String[] args, List<String> valued, List<String> flags) {
        CommandLineArguments parsed = new CommandLineArguments();
        for (int i = 0; i < args.length; i++) {
            String name = args[i];
            int equals = name.indexOf('=');
            String inline = equals < 0 ? null : name.substring(equals + 1);
            name = equals < 0 ? name : name.substring(0, equals);
            if (flags.contains(name) && inline == null) {
                parsed.values.put(name, "");
            } else if (!valued.contains(name)) {
                throw new InvalidArgumentException(unknown(args[i], name, valued, flags));
            } else {
                i += inline == null ? 1 : 0;
                String value = inline != null || i == args.length ? inline : args[i];
                if (value == null || value.isEmpty()) {
                    throw new InvalidArgumentException(name + " needs a value");
                }
                parsed.values.put(name, value);
                parsed.allValues.computeIfAbsent(name, _ -> new ArrayList<>()).add(value);
            }
        }
        return parsed;
    }

    /** Whether an option was given. */
    public boolean has(String flag) {
        return values.containsKey(flag);
    }

    /** The text of an option. */
    public Optional<String> text(String name) {
        return Optional.ofNullable(values.get(name));
    }

    /** The texts of an option that may be given several times. */
    public List<String> texts(String name) {
        return List.copyOf(allValues.getOrDefault(name, List.of()));
    }

    /** A whole number of at least {@code min}. */
    public int number(String name, int fallback, int min) {
        return (int) whole(name, fallback, min, Integer.MAX_VALUE);
    }

    /** A whole number from {@code min} to {@code max}. */
    public int number(String name, int fallback, int min, int max) {
        return (int) whole(name, fallback, min, max);
    }

    /** A whole number of at least {@code min}, which may be beyond 32 bits. */
    public long longNumber(String name, long fallback, long min) {
        return whole(name, fallback, min, Long.MAX_VALUE);
    }

    private long whole(String name, long fallback, long min, long max) {
        String text = values.get(name);
        if (text == null) {
            return fallback;
        }
        try {
            long number = Long.parseLong(text);
            if (number >= min && number <= max) {
                return number;
            }
        } catch (NumberFormatException _) {
            // Not a number: refused below, like a number that is out of range.
        }
        boolean isBounded = max != Integer.MAX_VALUE && max != Long.MAX_VALUE;
        throw new InvalidArgumentException(name + " is '" + text + "', expected a whole number "
                + (isBounded ? "from " + min + " to " + max : "of at least " + min));
    }

    /** Words with commas between them. */
    public List<String> words(String name, String fallback) {
        return List.of(values.getOrDefault(name, fallback).split(",", -1));
    }

    /** A number above zero. */
    public double positive(String name, double fallback) {
        return decimal(name, fallback, number -> number > 0, "a number above 0");
    }

    /** A learning rate. Optimizers divide the rate by numbers below 1, so the largest rate is below that of float32. */
    public double learningRate(String name, double fallback) {
        double rate = positive(name, fallback);
        if (rate > LARGEST_RATE) {
            throw new InvalidArgumentException(name + " is '" + values.get(name) + "', expected at most 1e30");
        }
        return rate;
    }

    /** Zero, or a number above zero. */
    public double zeroOrMore(String name, double fallback) {
        return decimal(name, fallback, number -> number >= 0, "0 or a number above 0");
    }

    private double decimal(String name, double fallback, DoublePredicate range, String expected) {
        String text = values.get(name);
        if (text == null) {
            return fallback;
        }
        try {
            double number = Double.parseDouble(text);
            if (range.test(number) && number <= Float.MAX_VALUE) {
                return number;
            }
            if (number > Float.MAX_VALUE) {
                throw new InvalidArgumentException(
                        name + " is '" + text + "', expected " + expected + " and below 3.4e38, the limit of float32");
            }
        } catch (NumberFormatException _) {
            // Not a number: refused below.
        }
        throw new InvalidArgumentException(name + " is '" + text + "', expected " + expected);
    }

    /** One of the words of an enum, in small letters and with dashes. */
    public <E extends Enum<E>> E word(String name, E fallback) {
        String text = values.get(name);
        if (text == null) {
            return fallback;
        }
        E[] constants = fallback.getDeclaringClass().getEnumConstants();
        for (E constant : constants) {
            if (word(constant).equals(text)) {
                return constant;
            }
        }
        String words = Arrays.stream(constants).map(CommandLineArguments::word).collect(Collectors.joining(", "));
        throw new InvalidArgumentException(name + " is '" + text + "', expected one of " + words);
    }

    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static String unknown(String given, String name, List<String> valued, List<String> flags) {
        List<String> all = new ArrayList<>(valued);
        all.addAll(flags);
        return "unknown option '" + given + "'. "
                + SimilarName.of(name, all)
                        .map(near -> "Did you mean '" + near + "'?")
                        .orElse("See --help. Options of jrun itself, such as --dry-run, belong before the program.");
    }
}
