package io.jrun.train.nccl;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;

/** ncclDataType_t and ncclRedOp_t. Stateless. */
final class NcclTypes {
    private static final int SUM = 0;
    private static final int PROD = 1;
    private static final int MAX = 2;
    private static final int MIN = 3;
    private static final int AVG = 4;

    private NcclTypes() {}

    /** The element type; a truth value is a byte of 0 or 1. */
    static int type(DataType type) {
        return switch (type) {
            case I8 -> 0;
            case U8, BOOL -> 1;
            case I32 -> 2;
            case I64 -> 4;
            case F16 -> 6;
            case F32 -> 7;
            case F64 -> 8;
            case BF16 -> 9;
        };
    }

    /**
     * The reduction of a call.
     *
     * @throws CommException USAGE for a bitwise reduction, except AND and OR of truth values: MIN and MAX give the same
     *     result
     */
    static int op(Call call) {
        boolean truth = call.type() == DataType.BOOL;
        ReduceOp op = call.op();
        return switch (op) {
            case SUM -> truth ? MAX : SUM;
            case PROD -> truth ? MIN : PROD;
            case MAX -> MAX;
            case MIN -> MIN;
            case AVG -> AVG;
            case BAND, BOR, BXOR -> {
                if (truth && op != ReduceOp.BXOR) {
                    yield op == ReduceOp.BAND ? MIN : MAX;
                }
                throw new CommException(
                        ErrorCode.USAGE,
                        call.describe() + ": NCCL has no " + op + " of "
                                + call.type().label() + ". Use another backend for this group.");
            }
        };
    }
}
