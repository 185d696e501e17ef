package io.jrun.bench.collective;

import io.jrun.comm.backend.OpKind;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.collective.TuningTable.Rule;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** What was measured of one operation, and what follows from it. Confined to one thread. */
final class Tuning {
    /** What one run may find by chance; the built-in choice is left only for more. */
    private static final double GAIN = 1.05;

    private final OpKind kind;
    private final int ranks;
    private final List<Size> sizes = new ArrayList<>();

    Tuning(OpKind kind, int ranks) {
        this.kind = kind;
        this.ranks = ranks;
    }

    /**
     * One size.
     *
     * @param bytes as algorithms are chosen by: of a rank's block, or of the buffer for operations in place
     * @param micros median of each algorithm
     * @param builtIn what is chosen without a table
     */
    record Size(long bytes, Map<Algorithm, Double> micros, Algorithm builtIn) {
        /** The fastest, or the built-in one where it is nearly as fast. */
        Algorithm chosen() {
            Algorithm fastest = Collections.min(micros.entrySet(), Map.Entry.comparingByValue())
                    .getKey();
            return loss(fastest) >= GAIN ? fastest : builtIn;
        }

        /** The built-in choice's time by that of {@code algorithm}. */
        double loss(Algorithm algorithm) {
            return time(builtIn) / time(algorithm);
        }

        double time(Algorithm algorithm) {
            return micros.getOrDefault(algorithm, Double.NaN);
        }
    }

    /** Adds the next larger size. */
    Size add(long bytes, Map<Algorithm, Double> micros) {
        Algorithm builtIn = AlgorithmSelector.BY_SIZE.choose(kind, bytes, ranks, false);
        Size size = new Size(bytes, Map.copyOf(micros), builtIn);
        sizes.add(size);
        return size;
    }

    /** A rule for each range of sizes with one choice; between two sizes the geometric mean parts them. */
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
