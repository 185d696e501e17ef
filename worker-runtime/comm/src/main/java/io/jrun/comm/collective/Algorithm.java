package io.jrun.comm.collective;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Collectors;

/** The algorithms there are. The constant's place travels in every frame: add at the end. */
public enum Algorithm {
    /** Neighbours on a ring; fewest bytes. */
    RING("ring"),
    /** Recursive vector halving and distance doubling; few steps and few bytes. */
    HALVING_DOUBLING("halving-doubling"),
    /** Recursive doubling of whole buffers; fewest steps. */
    RECURSIVE_DOUBLING("recursive-doubling"),
    /** Binomial tree. */
    TREE("tree"),
    /** Pipelined chain. */
    CHAIN("chain"),
    /** Everybody with everybody, or with the root, at once; reductions are folded in rank order. */
    DIRECT("direct"),
    /** One partner per step. */
    PAIRWISE("pairwise"),
    /** Signals at doubling distances. */
    DISSEMINATION("dissemination");

    private final String label;

    Algorithm(String label) {
        this.label = label;
    }

    /** The name a user writes. */
    public String label() {
        return label;
    }

    /** The algorithm that a user calls so. */
    static Optional<Algorithm> named(String name) {
        return Arrays.stream(values())
                .filter(algorithm -> algorithm.label.equals(name.strip()))
                .findFirst();
    }

    /** All names, for messages. */
    static String labels() {
        return Arrays.stream(values()).map(Algorithm::label).collect(Collectors.joining(", "));
    }
}
