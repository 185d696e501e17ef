package io.jrun.comm.shm;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;

/** What must be equal on all ranks besides sequence and count, in one word. Stateless. */
@SuppressWarnings("EnumOrdinal") // Never stored: all ranks of a node run the same classes.
final class Fingerprint {
    private static final OpKind[] KINDS = OpKind.values();
    private static final DataType[] TYPES = DataType.values();
    private static final ReduceOp[] OPS = ReduceOp.values();

    private Fingerprint() {}

    static long of(Call call) {
        return call.kind().ordinal()
                | (long) call.type().ordinal() << 8
                | (long) call.op().ordinal() << 16
                | (long) call.root() << 32;
    }

    static DataType type(long fingerprint) {
        return TYPES[(int) (fingerprint >>> 8 & 0xff)];
    }

    /** The call that a peer has published, as messages name it. */
    static String describe(long sequence, long fingerprint, long count) {
        return Call.describe(
                sequence,
                KINDS[(int) (fingerprint & 0xff)],
                type(fingerprint),
                OPS[(int) (fingerprint >>> 16 & 0xff)],
                count,
                (int) (fingerprint >>> 32));
    }
}
