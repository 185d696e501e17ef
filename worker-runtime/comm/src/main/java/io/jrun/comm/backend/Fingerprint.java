package io.jrun.comm.backend;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;

/** What must be equal on all ranks besides sequence, count and the sizes of uneven blocks, in one word. Stateless. */
@SuppressWarnings("EnumOrdinal") // Never stored: whoever reads one runs the same classes.
public final class Fingerprint {
    private static final OpKind[] KINDS = OpKind.values();
    private static final DataType[] TYPES = DataType.values();
    private static final ReduceOp[] OPS = ReduceOp.values();
    private static final long UNEVEN = 1L << 24;
    private static final long DETERMINISTIC = 1L << 25;

    private Fingerprint() {}

    /** The word of a call, as the program made it. */
    public static long of(Call part) {
        Call call = part.compared();
        return call.kind().ordinal()
                | (long) call.type().ordinal() << 8
                | (long) call.op().ordinal() << 16
                | (call.uneven() == null ? 0 : UNEVEN)
                | (long) call.root() << 32;
    }

    /** The same with what the ranks' groups must have in common, where that decides how the call is run. */
    public static long of(Call part, GroupContext group) {
        return of(part) | (group.deterministic() ? DETERMINISTIC : 0);
    }

    /** A checksum of the sizes of its blocks if those are uneven and alike on all ranks, else 0. */
    public static long blocks(Call part) {
        Call call = part.compared();
        Blocks uneven = call.uneven();
        return uneven == null || call.unevenIncoming() != null ? 0 : uneven.checksum();
    }

    /** How messages name blocks of which only the checksum is known. */
    public static String describeBlocks(long count, long checksum) {
        return count + " in uneven blocks of checksum " + Long.toHexString(checksum);
    }

    /** The kind of the call that had this word. */
    public static OpKind kind(long fingerprint) {
        return KINDS[(int) (fingerprint & 0xff)];
    }

    /** Its type. */
    public static DataType type(long fingerprint) {
        return TYPES[(int) (fingerprint >>> 8 & 0xff)];
    }

    /** Its reduction. */
    public static ReduceOp op(long fingerprint) {
        return OPS[(int) (fingerprint >>> 16 & 0xff)];
    }

    /** Whether its blocks have sizes of their own. */
    public static boolean isUneven(long fingerprint) {
        return (fingerprint & UNEVEN) != 0;
    }

    /** Whether it was called on a group that its rank has opened as deterministic. */
    public static boolean isDeterministic(long fingerprint) {
        return (fingerprint & DETERMINISTIC) != 0;
    }

    /** Its root or peer. */
    public static int root(long fingerprint) {
        return (int) (fingerprint >>> 32);
    }

    /** The call, as messages name it. */
    public static String describe(long sequence, long fingerprint, long count) {
        return describe(sequence, fingerprint, isUneven(fingerprint) ? "uneven blocks" : Long.toString(count));
    }

    /**
     * The same where more is known than a count.
     *
     * @param amount what takes the place of the count
     */
    public static String describe(long sequence, long fingerprint, String amount) {
        return Call.describe(
                sequence, kind(fingerprint), type(fingerprint), op(fingerprint), amount, root(fingerprint));
    }
}
