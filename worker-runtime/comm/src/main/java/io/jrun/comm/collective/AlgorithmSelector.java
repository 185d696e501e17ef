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
 * Chooses the algorithm of a call from what all ranks know alike: the kind, the bytes and the group size. Immutable.
 *
 * <p>The sizes at which one algorithm takes over from the next are measured, see docs/algorithms.md; they need not be exact.
 */
public final class AlgorithmSelector {
    /** Chooses by kind, bytes and group size alone. */
    public static final AlgorithmSelector BY_SIZE = new AlgorithmSelector(Optional.empty(), TuningTable.EMPTY);

    /** Up to here the number of steps is all that counts. */
    static final long SMALL_BYTES = 8 * 1024;
    /** Up to here a doubled buffer costs an all-reduce less than more steps do. */
    static final long MEDIUM_BYTES = 64 * 1024;
    /** The same for two ranks, between which doubling sends no more than anything else does. */
    static final long MEDIUM_BYTES_OF_TWO = 1024 * 1024;
    /** A segment, of which a larger message has several under way. */
    static final long SEGMENT_BYTES = 256 * 1024;
    /** Up to here, blocks that few ranks send to everybody at once are not slower than round a ring. */
    static final long DIRECT_BYTES_OF_FEW = 1024 * 1024;
    /** From here on a ring of segments costs an all-reduce less than fewer steps do. */
    static final long LARGE_BYTES = 512 * 1024;
    /** The same for powers of two, which can halve and double without ranks that sit out. */
    static final long LARGE_BYTES_OF_POWERS = 8 * 1024 * 1024;
    /** Up to this many ranks, a chain has hardly more steps than a tree, and its root sends once. */
    static final int FEW_RANKS = 4;
    /** Beyond this many ranks, one message to everybody costs more than log2(N) steps. */
    static final int MANY_RANKS = 16;

    private final Optional<Algorithm> override;
    private final TuningTable table;

    private AlgorithmSelector(Optional<Algorithm> override, TuningTable table) {
        this.override = override;
        this.table = table;
    }

    /**
     * A selector for the setting JRUN_ALGORITHM.
     *
     * @param setting the name of an algorithm, used wherever an operation has it; absent or empty: choose by size
     * @throws CommException USAGE if there is no such algorithm
     */
    public static AlgorithmSelector of(Optional<String> setting) {
        return new AlgorithmSelector(
                setting.filter(name -> !name.isBlank()).map(name -> parse("JRUN_ALGORITHM", name)), TuningTable.EMPTY);
    }

    /** The same by measured crossover points; what is forced stays so. */
    public AlgorithmSelector withTable(TuningTable newTable) {
        return new AlgorithmSelector(override, newTable);
    }

    /**
     * The same with the algorithm of this name wherever an operation has it.
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
                                + "). Leave it out to choose by size."));
    }

    /**
     * The algorithm of one call.
     *
     * @param bytes of one rank's block; of the whole buffer for in-place kinds
     * @param deterministic reductions are folded in rank order; this is stronger than a setting
     */
    public Algorithm choose(OpKind kind, long bytes, int size, boolean deterministic) {
        if (deterministic && kind.reduces()) {
            return DIRECT;
        }
        return override.filter(candidates(kind)::contains)
                .or(() -> table.choose(kind, bytes, size))
                .orElseGet(() -> bySize(kind, bytes, size));
    }

    /** What there is for a kind. */
    public static List<Algorithm> candidates(OpKind kind) {
        return switch (kind) {
            case ALL_REDUCE -> List.of(RING, HALVING_DOUBLING, RECURSIVE_DOUBLING, DIRECT);
            case REDUCE -> List.of(TREE, RING, DIRECT);
            case REDUCE_SCATTER, ALL_GATHER -> List.of(RING, DIRECT);
            case BROADCAST -> List.of(TREE, CHAIN);
            case GATHER, SCATTER -> List.of(TREE, DIRECT);
            case ALL_TO_ALL -> List.of(PAIRWISE);
            case SEND, RECV -> List.of(DIRECT);
            case BARRIER, ALLOCATE -> List.of(DISSEMINATION);
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
            case BARRIER, ALLOCATE -> DISSEMINATION;
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
