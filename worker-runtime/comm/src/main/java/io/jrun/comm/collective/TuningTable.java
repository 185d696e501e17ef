package io.jrun.comm.collective;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.OpKind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Measured limits between algorithms: the fastest algorithm for an operation, a size in bytes and a number of ranks.
 * The text form has one rule per line after a first line that names the format:
 *
 * <pre>
 * # jrun tuning 1
 * # operation ranks up-to-bytes algorithm
 * allReduce   2     65536       recursive-doubling
 * allReduce   2     max         ring
 * </pre>
 *
 * <p>{@code ranks} is the number of ranks that communicate over TCP; for a group on nodes of several ranks each, the
 * number of nodes. A group uses the rules of its own number of ranks, else the rules of the next smaller number that
 * the table has for the operation. The first of these rules with enough bytes applies (bytes of one rank's block; of
 * the buffer for in-place operations). If none applies, the built-in limits of {@link AlgorithmSelector} apply. All
 * ranks need the same table. The ranks compare their choices, because the algorithm is in every frame's header.
 * Immutable.
 *
 * @param rules rules ordered by operation, ranks and bytes
 */
public record TuningTable(List<Rule> rules) {
    /** The table without rules. */
    public static final TuningTable EMPTY = new TuningTable(List.of());

    private static final String FIRST_LINE = "# jrun tuning 1";
    private static final String UNLIMITED = "max";
    private static final int FIELDS = 4;

    /**
     * One line.
     *
     * @param ranks number of ranks, at least 2
     * @param maxBytes largest size in bytes, inclusive; {@link Long#MAX_VALUE} for all sizes
     * @param algorithm an algorithm of the operation
     */
    public record Rule(OpKind kind, int ranks, long maxBytes, Algorithm algorithm) {
        public Rule {
            if (ranks < 2) {
                throw new IllegalArgumentException(ranks + " ranks (expected 2 or more)");
            }
            if (maxBytes < 0) {
                throw new IllegalArgumentException(maxBytes + " bytes (expected 0 or more)");
            }
            List<Algorithm> possible = AlgorithmSelector.candidates(kind);
            if (!possible.contains(algorithm)) {
                throw new IllegalArgumentException(kind.methodName() + " has no algorithm '" + algorithm.label()
                        + "' (expected one of "
                        + possible.stream().map(Algorithm::label).collect(Collectors.joining(", ")) + ")");
            }
        }

        private String render() {
            String bytes = maxBytes == Long.MAX_VALUE ? UNLIMITED : Long.toString(maxBytes);
            return String.join(" ", kind.methodName(), Integer.toString(ranks), bytes, algorithm.label());
        }
    }

    /** Orders the rules. Throws IllegalArgumentException if two rules have the same operation, ranks and bytes. */
    public TuningTable {
        rules = rules.stream()
                .sorted(Comparator.comparing(Rule::kind)
                        .thenComparingInt(Rule::ranks)
                        .thenComparingLong(Rule::maxBytes))
                .toList();
        Set<Rule> seen = new HashSet<>();
        for (Rule rule : rules) {
            Algorithm any = AlgorithmSelector.candidates(rule.kind).getFirst();
            if (!seen.add(new Rule(rule.kind, rule.ranks, rule.maxBytes, any))) {
                throw new IllegalArgumentException("there are two rules for '" + rule.render() + "'");
            }
        }
    }

    /**
     * Parses the text of {@link #render}. After the first line, empty lines and lines that begin with '#' are skipped.
     *
     * @param source name of the text in errors, such as its path
     * @throws CommException USAGE with source, line and the expected text
     */
    public static TuningTable parse(String text, String source) {
        List<String> lines = text.lines().toList();
        if (lines.isEmpty() || !lines.getFirst().strip().equals(FIRST_LINE)) {
            throw bad(source, 1, "the text is not a tuning table (expected '" + FIRST_LINE + "')");
        }
        List<Rule> rules = new ArrayList<>();
        for (int at = 1; at < lines.size(); at++) {
            String line = lines.get(at).strip();
            if (!line.isEmpty() && !line.startsWith("#")) {
                try {
                    rules.add(rule(line));
                } catch (IllegalArgumentException e) {
                    throw bad(source, at + 1, e.getMessage());
                }
            }
        }
        try {
            return new TuningTable(rules);
        } catch (IllegalArgumentException e) {
            throw bad(source, lines.size(), e.getMessage());
        }
    }

    /** Returns the table as text. */
    public String render() {
        return rules.stream().map(rule -> rule.render() + "\n").collect(Collectors.joining("", FIRST_LINE + "\n", ""));
    }

    /** Returns the table's choice for a call; empty if no rule applies. */
    Optional<Algorithm> choose(OpKind kind, long bytes, int size) {
        int ranks = rules.stream()
                .filter(rule -> rule.kind == kind && rule.ranks <= size)
                .mapToInt(Rule::ranks)
                .max()
                .orElse(0);
        return rules.stream()
                .filter(rule -> rule.kind == kind && rule.ranks == ranks && bytes <= rule.maxBytes)
                .map(Rule::algorithm)
                .findFirst();
    }

    private static Rule rule(String line) {
        List<String> fields = Arrays.asList(line.split("\\s+", -1));
        if (fields.size() != FIELDS) {
            throw new IllegalArgumentException("'" + line + "' has " + fields.size()
                    + " fields (expected: operation ranks up-to-bytes algorithm)");
        }
        return new Rule(kind(fields.get(0)), ranks(fields.get(1)), bytes(fields.get(2)), algorithm(fields.get(3)));
    }

    private static OpKind kind(String name) {
        return Arrays.stream(OpKind.values())
                .filter(kind -> kind.methodName().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("unknown operation '" + name + "'"));
    }

    private static Algorithm algorithm(String name) {
        return Algorithm.named(name)
                .orElseThrow(() -> new IllegalArgumentException(
                        "unknown algorithm '" + name + "' (expected one of " + Algorithm.labels() + ")"));
    }

    private static long bytes(String value) {
        return value.toLowerCase(Locale.ROOT).equals(UNLIMITED) ? Long.MAX_VALUE : number("up-to-bytes", value);
    }

    private static int ranks(String value) {
        return Math.clamp(number("ranks", value), Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    private static long number(String name, String value) {
        try {
            return Long.parseLong(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + " is '" + value + "' (expected a number)", e);
        }
    }

    private static CommException bad(String source, int line, @Nullable String what) {
        return new CommException(ErrorCode.USAGE, "JRUN_TUNING: " + source + ", line " + line + ": " + what);
    }
}
