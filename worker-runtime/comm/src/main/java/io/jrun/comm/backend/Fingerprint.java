package io.jrun.comm.backend;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;

/**
 * The values that must be equal on all ranks, in one word; without sequence, count and the sizes of uneven blocks.
 * Stateless.
 */
@SuppressWarnings("EnumOrdinal") // Never stored: every reader runs the same classes.
public final class Fingerprint {
    private static final OpKind[] KINDS = OpKind.values();
    private static final DataType[] TYPES = DataType.values();
    private static final ReduceOp[] OPS = ReduceOp.values();
    private static final long UNEVEN = 1L << 24;
    private static final long DETERMINISTIC = 1L << 25;

    private Fingerprint() {}

    /** Returns the fingerprint of the program's call. */
    public static long of(Call part) {
        Call call = part.compared();
        return call.kind().ordinal()
                | (long) call.type().ordinal() << 8
                | (long) call.op().ordinal() << 16
                | (call.uneven() == null ? 0 : UNEVEN)
                | (long) call.root() << 32;
    }

    /** Returns the fingerprint with the options of the group that decide how the call runs. */
    public static long of(Call part, GroupContext group) {
        return of(part) | (group.deterministic() ? DETERMINISTIC : 0);
    }

    /** Returns a checksum of the sizes of uneven blocks that are equal on all ranks, else 0. */
    public static long blocks(Call part) {
        Call call = part.compared();
        Blocks uneven = call.uneven();
        return uneven == null || call.unevenIncoming() != null ? 0 : uneven.checksum();
    }

    /** Describes blocks whose checksum is known. */
    public static String describeBlocks(long count, long checksum) {
        return count + " in uneven blocks of checksum " + Long.toHexString(checksum);
    }

    /** Returns the kind of the call. */
    public static OpKind kind(long fingerprint) {
        return KINDS[(int) (fingerprint & 0xff)];
    }

    /** Returns the type of the call. */
    public static DataType type(long fingerprint) {
        return TYPES[(int) (fingerprint >>> 8 & 0xff)];
    }

    /** Returns the reduction of the call. */
    public static ReduceOp op(long fingerprint) {
        return OPS[(int) (fingerprint >>> 16 & 0xff)];
    }

    /** Whether the blocks of the call are uneven. */
    public static boolean isUneven(long fingerprint) {
        return (fingerprint & UNEVEN) != 0;
    }

    /** Whether the caller's group is deterministic. */
    public static boolean isDeterministic(long fingerprint) {
        return (fingerprint & DETERMINISTIC) != 0;
    }

    /** Returns the root or the peer of the call. */
    public static int root(long fingerprint) {
        return (int) (fingerprint >>> 32);
    }

    /** Describes the call for messages. */
    public static String describe(long sequence, long fingerprint, long count) {
        return describe(sequence, fingerprint, isUneven(fingerprint) ? "uneven blocks" : Long.toString(count));
    }

    /**
     * Describes a call whose amount is not a plain count.
     *
     * @param amount text in the place of the count
     */
    public static String describe(long sequence, long fingerprint, String amount) {
        return Call.describe(
                sequence, kind(fingerprint), type(fingerprint), op(fingerprint), amount, root(fingerprint));
    }
}
