package io.jrun.comm.collective;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Collectors;

/** The algorithms over TCP. The position of the constant travels in every frame: add constants at the end. */
public enum Algorithm {
    /** Neighbours on a ring; the fewest bytes. */
    RING("ring"),
    /** Recursive vector halving and distance doubling; few steps and few bytes. */
    HALVING_DOUBLING("halving-doubling"),
    /** Recursive doubling of whole buffers; the fewest steps. */
    RECURSIVE_DOUBLING("recursive-doubling"),
    /** Binomial tree. */
    TREE("tree"),
    /** Pipelined chain. */
    CHAIN("chain"),
    /** All pairs of ranks, or the root with all ranks, at once. Reductions are done in rank order. */
    DIRECT("direct"),
    /** One partner per step. */
    PAIRWISE("pairwise"),
    /** Signals at doubling distances. */
    DISSEMINATION("dissemination");

    private final String label;

    Algorithm(String label) {
        this.label = label;
    }

    /** Returns the name of the algorithm in JRUN_ALGORITHM. */
    public String label() {
        return label;
    }

    /** Returns the algorithm with this name. */
    static Optional<Algorithm> named(String name) {
        return Arrays.stream(values())
                .filter(algorithm -> algorithm.label.equals(name.strip()))
                .findFirst();
    }

    /** Returns all names, for messages. */
    static String labels() {
        return Arrays.stream(values()).map(Algorithm::label).collect(Collectors.joining(", "));
    }
}
