package io.jrun.bench.collective;

import io.jrun.comm.backend.OpKind;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.collective.TuningTable.Rule;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** The measurements of one operation, and the rules that follow. Confined to one thread. */
final class Tuning {
    /** The least gain for which a rule replaces the built-in choice. Smaller gains may be chance. */
    private static final double GAIN = 1.05;

    private final OpKind kind;
    private final int ranks;
    private final List<Size> sizes = new ArrayList<>();

    Tuning(OpKind kind, int ranks) {
        this.kind = kind;
        this.ranks = ranks;
    }

    /**
     * The measurements of one size.
     *
     * @param bytes the bytes by which the algorithm is chosen: of a rank's block, or of the buffer for operations in
     *     place
     * @param micros the median of each algorithm
     * @param builtIn the choice without a table
     */
    record Size(long bytes, Map<Algorithm, Double> micros, Algorithm builtIn) {
        /** Returns the fastest algorithm, or the built-in choice if the built-in choice is nearly as fast. */
        Algorithm chosen() {
            Algorithm fastest = Collections.min(micros.entrySet(), Map.Entry.comparingByValue())
                    .getKey();
            return loss(fastest) >= GAIN ? fastest : builtIn;
        }

        /** Returns the time of the built-in choice divided by the time of {@code algorithm}. */
        double loss(Algorithm algorithm) {
            return time(builtIn) / time(algorithm);
        }

        double time(Algorithm algorithm) {
            return micros.getOrDefault(algorithm, Double.NaN);
        }
    }

    /** Adds the next size, which is larger. */
    Size add(long bytes, Map<Algorithm, Double> micros) {
        Algorithm builtIn = AlgorithmSelector.BY_SIZE.choose(kind, bytes, ranks, false);
        Size size = new Size(bytes, Map.copyOf(micros), builtIn);
        sizes.add(size);
        return size;
    }

    /** Returns a rule for each range of sizes with one choice. The limit between two sizes is their geometric mean. */
    List<Rule> rules() {
        List<Rule> rules = new ArrayList<>();
        for (int i = 0; i < sizes.size(); i++) {
            boolean last = i == sizes.size() - 1;
            Algorithm chosen = sizes.get(i).chosen();
            if (last || chosen != sizes.get(i + 1).chosen()) {
                long upTo = last
                        ? Long.MAX_VALUE
                        : (long) Math.sqrt(
                                (double) sizes.get(i).bytes() * sizes.get(i + 1).bytes());
                rules.add(new Rule(kind, ranks, upTo, chosen));
            }
        }
        return rules;
    }
}
