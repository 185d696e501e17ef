package io.jrun.train.gloo;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.train.tensor.TensorTypes;
import org.bytedeco.pytorch.ReduceOp;
import org.bytedeco.pytorch.global.torch;

/** libtorch's names of jrun's types and reductions. Stateless. */
final class GlooTypes {
    private GlooTypes() {}

    /** The element type. A truth value is a byte, since Gloo has no type for truth values. */
    static torch.ScalarType scalar(DataType type) {
        return TensorTypes.scalarType(type == DataType.BOOL ? DataType.U8 : type);
    }

    /** The reduction. For AVG the result is SUM, and the caller divides. */
    static ReduceOp reduceOp(Call call) {
        return new ReduceOp(call.type() == DataType.BOOL ? logical(call) : numeric(call));
    }

    private static ReduceOp.RedOpType numeric(Call call) {
        return switch (call.op()) {
            case SUM, AVG -> ReduceOp.RedOpType.SUM;
            case MIN -> ReduceOp.RedOpType.MIN;
            case MAX -> ReduceOp.RedOpType.MAX;
            case PROD -> ReduceOp.RedOpType.PRODUCT;
            case BAND -> ReduceOp.RedOpType.BAND;
            case BOR -> ReduceOp.RedOpType.BOR;
            case BXOR -> ReduceOp.RedOpType.BXOR;
        };
    }

    private static ReduceOp.RedOpType logical(Call call) {
        return switch (call.op()) {
            case SUM, MAX, BOR -> ReduceOp.RedOpType.MAX;
            case PROD, MIN, BAND -> ReduceOp.RedOpType.MIN;
            case BXOR -> ReduceOp.RedOpType.BXOR;
            case AVG -> throw new CommException(ErrorCode.USAGE, call.describe() + ": truth values have no average");
        };
    }
}
