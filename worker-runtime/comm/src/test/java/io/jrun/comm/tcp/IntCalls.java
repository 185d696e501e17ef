package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** One rank's collectives on integers that depend on rank, call and place; each result is checked. */
public final class IntCalls {
    /** Between a deadline and its exception on a loaded machine; a hang is longer. */
    static final Duration SLACK = Duration.ofSeconds(10);

    private final int self;
    private final int size;
    private final Consumer<Call> runner;
    private final Duration timeout;

    /** @param runner runs each call and returns when it is done */
    public IntCalls(int self, int size, Duration timeout, Consumer<Call> runner) {
        this.self = self;
        this.size = size;
        this.runner = runner;
        this.timeout = timeout;
    }

    /** Whether the operation has a block for each rank, which may be of a size of its own. */
    public static boolean hasBlocks(OpKind kind) {
        return switch (kind) {
            case ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER, ALL_TO_ALL -> true;
            default -> false;
        };
    }

    /** Runs a call before its deadline and checks the result of this rank. */
    public void run(int sequence, OpKind kind, int count, int root, boolean isUneven) {
        Blocks outgoing = blocks(self, sequence, kind, count, isUneven);
        int own = (int) (hasBlocks(kind) ? outgoing.count(self) : count);
        int all = (int) outgoing.total();
        int given = switch (kind) {
            case REDUCE_SCATTER, ALL_TO_ALL -> all;
            case SCATTER -> self == root ? all : 0;
            default -> own;
        };
        int taken = switch (kind) {
            case ALL_GATHER, ALL_TO_ALL -> all;
            case GATHER -> self == root ? all : 0;
            default -> own;
        };
        int[] input =
                IntStream.range(0, given).map(i -> value(self, sequence, i)).toArray();
        boolean isInPlace = kind == OpKind.ALL_REDUCE || kind == OpKind.REDUCE || kind == OpKind.BROADCAST;
        int[] output = isInPlace ? input : new int[taken];
        boolean isOfEachRank = isUneven && kind == OpKind.ALL_TO_ALL;
        long start = System.nanoTime();
        try {
            runner.accept(new Call(
                    sequence,
                    kind,
                    DataType.I32,
                    ReduceOp.SUM,
                    isOfEachRank ? 0 : isUneven ? outgoing.total() : count,
                    kind.hasRoot() ? root : 0,
                    MemorySegment.ofArray(input),
                    MemorySegment.ofArray(output),
                    Deadline.after(timeout),
                    isUneven ? outgoing : null,
                    isOfEachRank ? outgoing : null,
                    0,
                    null));
        } finally {
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .as("%s #%d", kind, sequence)
                    .isLessThan(timeout.plus(SLACK));
        }
        int[] expected = IntStream.range(0, taken)
                .map(i -> switch (kind) {
                    case ALL_REDUCE -> sum(sequence, i);
                    case REDUCE -> self == root ? sum(sequence, i) : value(self, sequence, i);
                    case BROADCAST -> value(root, sequence, i);
                    case REDUCE_SCATTER -> sum(sequence, (int) outgoing.offset(self) + i);
                    case SCATTER -> value(root, sequence, (int) outgoing.offset(self) + i);
                    case ALL_GATHER, GATHER, ALL_TO_ALL -> gathered(sequence, kind, count, isUneven, i);
                    default -> throw new IllegalArgumentException(kind + " gives nothing");
                })
                .toArray();
        assertThat(Arrays.mismatch(output, expected))
                .as("first wrong element of %s #%d of %d", kind, sequence, count)
                .isEqualTo(-1);
    }

    static int value(int rank, int sequence, int i) {
        return (rank + 1) * 1_000_003 + sequence * 101 + i * 7;
    }

    /**
     * Blocks of equal sizes, or of 0, count, 2 count... elements. For an all-to-all, incoming and outgoing blocks are
     * equal.
     */
    private Blocks blocks(int owner, int sequence, OpKind kind, int count, boolean isUneven) {
        int turn = kind == OpKind.ALL_TO_ALL ? owner : 0;
        return isUneven
                ? Blocks.of(IntStream.range(0, size)
                        .mapToLong(block -> (long) (block + turn + sequence) % size * count)
                        .toArray())
                : Blocks.equal(count, size);
    }

    /** Element i of the blocks of all ranks. */
    private int gathered(int sequence, OpKind kind, int count, boolean isUneven, int i) {
        Blocks incoming = blocks(self, sequence, kind, count, isUneven);
        int owner = 0;
        while (i >= incoming.offset(owner + 1)) {
            owner++;
        }
        long first = kind == OpKind.ALL_TO_ALL
                ? blocks(owner, sequence, kind, count, isUneven).offset(self)
                : 0;
        return value(owner, sequence, (int) (first + i - incoming.offset(owner)));
    }

    private int sum(int sequence, int i) {
        return IntStream.range(0, size).map(each -> value(each, sequence, i)).sum();
    }
}
