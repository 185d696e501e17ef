package io.jrun.comm.operation;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ObjectCollectives;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Checks of callers' arguments. The messages name the operation, the value and the expected value. */
public final class ArgumentChecks {
    /** A thread other than any caller. A progress thread cannot use memory that this thread may not access. */
    private static final Thread ANOTHER = Thread.ofPlatform().unstarted(() -> {});

    private ArgumentChecks() {}

    static long blockBytes(OpKind kind, DataType type, long count, int blocks) {
        if (count < 0) {
            throw usage(kind, "count is " + count + " (expected 0 or more)");
        }
        try {
            return Math.multiplyExact(Math.multiplyExact(count, (long) type.sizeBytes()), (long) blocks);
        } catch (ArithmeticException e) {
            throw usage(kind, blocks + " blocks of " + count + " elements of " + type.label() + " exceed 64 bits");
        }
    }

    /** Returns one block for each rank, with the sizes of the caller's list. */
    static Blocks blocks(OpKind kind, DataType type, long[] counts, int size) {
        if (counts.length != size) {
            throw usage(kind, counts.length + " counts for a group of " + size + " (expected one for each rank)");
        }
        for (int rank = 0; rank < size; rank++) {
            if (counts[rank] < 0) {
                throw usage(kind, "the count of rank " + rank + " is " + counts[rank] + " (expected 0 or more)");
            }
        }
        try {
            Blocks blocks = Blocks.of(counts);
            long _ = Math.multiplyExact(blocks.total(), (long) type.sizeBytes());
            return blocks;
        } catch (ArithmeticException e) {
            throw usage(kind, "blocks of " + Arrays.toString(counts) + " elements exceed 64 bits together");
        }
    }

    /** Checks the list of members of a new group on one member. */
    public static void members(List<Integer> groupRanks, int rank, int size) {
        Set<Integer> distinct = new HashSet<>(groupRanks);
        String what = "newGroup of ranks " + groupRanks;
        if (groupRanks.stream().anyMatch(each -> each < 0 || each >= size)) {
            throw new CommException(ErrorCode.USAGE, what + " (expected ranks from 0 to " + (size - 1) + ")");
        }
        if (distinct.size() != groupRanks.size()) {
            throw new CommException(ErrorCode.USAGE, what + " names a rank twice");
        }
        if (!distinct.contains(rank)) {
            throw new CommException(
                    ErrorCode.USAGE,
                    what + " lacks this rank, " + rank + ". Only the members of a group call newGroup.");
        }
    }

    public static void reducible(OpKind kind, DataType type, ReduceOp op) {
        if (!op.supports(type)) {
            String supported = Arrays.stream(DataType.values())
                    .filter(op::supports)
                    .map(DataType::label)
                    .collect(Collectors.joining(" "));
            throw usage(kind, op + " of " + type.label() + " is not defined (expected one of " + supported + ")");
        }
    }

    public static void readable(OpKind kind, String name, MemorySegment buffer, long bytes) {
        if (buffer.byteSize() < bytes) {
            throw usage(
                    kind,
                    "the " + name + " buffer has " + buffer.byteSize() + " bytes (expected at least " + bytes + ")");
        }
        if (!buffer.scope().isAlive()) {
            throw usage(
                    kind,
                    "the " + name + " buffer's arena is closed. Keep the arena open until the operation is done.");
        }
        if (!buffer.isAccessibleBy(ANOTHER)) {
            throw usage(
                    kind,
                    "the " + name + " buffer belongs to a confined arena, which progress threads cannot access."
                            + " Allocate the buffer from Arena.ofShared() or Arena.ofAuto().");
        }
    }

    public static void writable(OpKind kind, String name, MemorySegment buffer, long bytes) {
        readable(kind, name, buffer, bytes);
        if (buffer.isReadOnly()) {
            throw usage(kind, "the " + name + " buffer is read-only");
        }
    }

    public static void rank(OpKind kind, String name, int groupRank, int size) {
        if (groupRank < 0 || groupRank >= size) {
            throw usage(kind, name + " is " + groupRank + " (expected 0.." + (size - 1) + ", a rank of this group)");
        }
    }

    /** Input and output must not overlap. */
    static void apart(OpKind kind, MemorySegment input, long inputBytes, MemorySegment output, long outputBytes) {
        if (overlap(input.asSlice(0, inputBytes), output.asSlice(0, outputBytes))) {
            throw usage(kind, "input and output overlap. Use separate buffers.");
        }
    }

    /** As {@link #apart}, but {@code block} may be exactly the block at {@code offset} of {@code whole}. */
    static void apartOrInPlace(
            OpKind kind, MemorySegment whole, long wholeBytes, MemorySegment block, long blockBytes, long offset) {
        MemorySegment own = whole.asSlice(offset, blockBytes);
        boolean inPlace = sameBase(whole, block) && own.address() == block.address();
        if (!inPlace && overlap(whole.asSlice(0, wholeBytes), block.asSlice(0, blockBytes))) {
            throw usage(
                    kind,
                    "input and output overlap. Use separate buffers, or for an in-place call exactly this rank's own"
                            + " block.");
        }
    }

    private static boolean sameBase(MemorySegment a, MemorySegment b) {
        return a.isNative() == b.isNative() && a.heapBase().equals(b.heapBase());
    }

    private static boolean overlap(MemorySegment a, MemorySegment b) {
        return a.asOverlappingSlice(b).isPresent();
    }

    public static void objectSize(OpKind kind, long bytes) {
        if (bytes < 0 || bytes > ObjectCollectives.MAX_BYTES) {
            throw usage(
                    kind, "the object has " + bytes + " bytes (expected at most " + ObjectCollectives.MAX_BYTES + ")");
        }
    }

    public static CommException usage(OpKind kind, String what) {
        return new CommException(ErrorCode.USAGE, kind.methodName() + ": " + what);
    }
}
