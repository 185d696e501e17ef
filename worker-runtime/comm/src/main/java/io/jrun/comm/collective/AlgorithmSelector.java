package io.jrun.comm.collective;

import static io.jrun.comm.collective.Algorithm.CHAIN;
import static io.jrun.comm.collective.Algorithm.DIRECT;
import static io.jrun.comm.collective.Algorithm.DISSEMINATION;
import static io.jrun.comm.collective.Algorithm.HALVING_DOUBLING;
import static io.jrun.comm.collective.Algorithm.PAIRWISE;
import static io.jrun.comm.collective.Algorithm.RECURSIVE_DOUBLING;
import static io.jrun.comm.collective.Algorithm.RING;
import static io.jrun.comm.collective.Algorithm.TREE;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.OpKind;
import java.util.List;
import java.util.Optional;

/**
 * Chooses the algorithm of a call from values that are equal on all ranks: the kind, the bytes and the group size.
 * Immutable.
 *
 * <p>The limits between the algorithms are measured, see docs/algorithms.md. Their exact values do not matter.
 */
public final class AlgorithmSelector {
    /** Chooses only by kind, bytes and group size. */
    public static final AlgorithmSelector BY_SIZE = new AlgorithmSelector(Optional.empty(), TuningTable.EMPTY);

    /** The size up to which only the number of steps matters. */
    static final long SMALL_BYTES = 8 * 1024;
    /** The size up to which an all-reduce with doubled buffers costs less than more steps. */
    static final long MEDIUM_BYTES = 64 * 1024;
    /** The same limit for two ranks, between which doubling sends no more bytes than other algorithms. */
    static final long MEDIUM_BYTES_OF_TWO = 1024 * 1024;
    /** The size of a segment. A larger message has several segments under way. */
    static final long SEGMENT_BYTES = 256 * 1024;
    /** The block size up to which few ranks that send to all ranks at once are not slower than a ring. */
    static final long DIRECT_BYTES_OF_FEW = 1024 * 1024;
    /** The size from which an all-reduce on a ring of segments costs less than fewer steps. */
    static final long LARGE_BYTES = 512 * 1024;
    /** The same limit for powers of two, whose halving and doubling has no idle ranks. */
    static final long LARGE_BYTES_OF_POWERS = 8 * 1024 * 1024;
    /** The number of ranks up to which a chain has hardly more steps than a tree. The root of a chain sends once. */
    static final int FEW_RANKS = 4;
    /** The number of ranks above which one message to each rank costs more than log2(N) steps. */
    static final int MANY_RANKS = 16;

    private final Optional<Algorithm> override;
    private final TuningTable table;

    private AlgorithmSelector(Optional<Algorithm> override, TuningTable table) {
        this.override = override;
        this.table = table;
    }

    /**
     * Makes a selector for the setting JRUN_ALGORITHM.
     *
     * @param setting name of the algorithm of every operation that has it; absent or empty: choice by size
     * @throws CommException USAGE if there is no such algorithm
     */
    public static AlgorithmSelector of(Optional<String> setting) {
        return new AlgorithmSelector(
                setting.filter(name -> !name.isBlank()).map(name -> parse("JRUN_ALGORITHM", name)), TuningTable.EMPTY);
    }

    /** Returns this selector with measured limits. A forced algorithm stays forced. */
    public AlgorithmSelector withTable(TuningTable newTable) {
        return new AlgorithmSelector(override, newTable);
    }

    /**
     * Returns this selector with a forced algorithm for every operation that has it.
     *
     * @throws CommException USAGE if there is no such algorithm
     */
    public AlgorithmSelector forcing(String name) {
        return new AlgorithmSelector(Optional.of(parse("the group's algorithm", name)), table);
    }

    private static Algorithm parse(String source, String name) {
        return Algorithm.named(name)
                .orElseThrow(() -> new CommException(
                        ErrorCode.USAGE,
                        source + ": unknown algorithm '" + name + "' (expected one of " + Algorithm.labels()
                                + "). Remove the setting to choose by size."));
    }

    /**
     * Chooses the algorithm of one call.
     *
     * @param bytes size of one rank's block in bytes; of the whole buffer for in-place kinds
     * @param deterministic whether reductions must be done in rank order; this takes precedence over a forced algorithm
     */
    public Algorithm choose(OpKind kind, long bytes, int size, boolean deterministic) {
        if (deterministic && kind.reduces()) {
            return DIRECT;
        }
        return override.filter(candidates(kind)::contains)
                .or(() -> table.choose(kind, bytes, size))
                .orElseGet(() -> bySize(kind, bytes, size));
    }

    /** Returns the algorithms of a kind. */
    public static List<Algorithm> candidates(OpKind kind) {
        return switch (kind) {
            case ALL_REDUCE -> List.of(RING, HALVING_DOUBLING, RECURSIVE_DOUBLING, DIRECT);
            case REDUCE -> List.of(TREE, RING, DIRECT);
            case REDUCE_SCATTER, ALL_GATHER -> List.of(RING, DIRECT);
            case BROADCAST -> List.of(TREE, CHAIN);
            case GATHER, SCATTER -> List.of(TREE, DIRECT);
            case ALL_TO_ALL -> List.of(PAIRWISE);
            case SEND, RECV -> List.of(DIRECT);
            case BARRIER, ALLOCATE, ALLOCATE_SHARED -> List.of(DISSEMINATION);
        };
    }

    private static Algorithm bySize(OpKind kind, long bytes, int size) {
        boolean small = bytes <= SMALL_BYTES;
        boolean isFew = size <= FEW_RANKS;
        boolean isMany = size > MANY_RANKS;
        return switch (kind) {
            case ALL_REDUCE -> allReduce(bytes, size);
            case REDUCE -> bytes <= SEGMENT_BYTES || size == 2 ? TREE : isMany ? RING : DIRECT;
            case BROADCAST -> size == 2 || (isFew ? small : bytes < SEGMENT_BYTES) ? TREE : CHAIN;
            case REDUCE_SCATTER, ALL_GATHER ->
                isMany || bytes > (isFew ? DIRECT_BYTES_OF_FEW : SEGMENT_BYTES) ? RING : DIRECT;
            case GATHER, SCATTER -> small ? TREE : DIRECT;
            case ALL_TO_ALL -> PAIRWISE;
            case SEND, RECV -> DIRECT;
            case BARRIER, ALLOCATE, ALLOCATE_SHARED -> DISSEMINATION;
        };
    }

    private static Algorithm allReduce(long bytes, int size) {
        if (bytes <= (size == 2 ? MEDIUM_BYTES_OF_TWO : MEDIUM_BYTES)) {
            return RECURSIVE_DOUBLING;
        }
        boolean isPower = Integer.bitCount(size) == 1 && size > 2;
        return bytes >= (isPower ? LARGE_BYTES_OF_POWERS : LARGE_BYTES) ? RING : HALVING_DOUBLING;
    }
}
