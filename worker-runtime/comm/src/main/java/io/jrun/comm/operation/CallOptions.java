package io.jrun.comm.operation;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The options of a view of a group for its calls.
 *
 * @param timeout longest time of each operation, counted from its start
 * @param factor factor of this rank's contributions before the sum
 * @param wire 16-bit type in which F32 is reduced; null: F32 itself
 * @param isOfGroup whether these are the options of the group itself, and of no scaled or compressed view. The factor of
 *     a scaled view may be 1 on some ranks
 */
public record CallOptions(
        Duration timeout, double factor, @Nullable DataType wire, boolean isOfGroup) {
    public CallOptions {
        timeout = GroupOptions.bounded(timeout);
        if (timeout.isZero() || timeout.isNegative()) {
            throw new CommException(ErrorCode.USAGE, "call timeout is " + timeout + " (expected a positive duration)");
        }
        if (wire != null && wire != DataType.BF16 && wire != DataType.F16) {
            throw new CommException(ErrorCode.USAGE, "compressed to " + wire.label() + " (expected bf16 or f16)");
        }
    }

    public static CallOptions of(GroupOptions group) {
        return new CallOptions(group.timeout(), 1, null, true);
    }

    public CallOptions withTimeout(Duration newTimeout) {
        return new CallOptions(newTimeout, factor, wire, isOfGroup);
    }

    public CallOptions withFactor(double newFactor) {
        return new CallOptions(timeout, newFactor, wire, false);
    }

    public CallOptions withWire(DataType newWire) {
        return new CallOptions(timeout, factor, newWire, false);
    }

    /** Whether the data plane gets the caller's data without a conversion. */
    public boolean isPlain() {
        return factor == 1 && wire == null;
    }

    /** The type of the elements on the wire for an operation of {@code type}. */
    public DataType wireType(DataType type) {
        return wire == null ? type : wire;
    }

    /** Throws if the options are not defined for a call. */
    public void check(Call request) {
        String what = request.kind().methodName() + " of " + request.type().label();
        if (factor != 1
                && !(request.kind().reduces()
                        && request.op() == ReduceOp.SUM
                        && request.type().isFloat())) {
            throw new CommException(
                    ErrorCode.USAGE,
                    what + " cannot be scaled: a factor is for SUM of floating point types (allReduce, reduce,"
                            + " reduceScatter). Call the operation on the group itself.");
        }
        if (wire != null && !(request.kind().reduces() && request.type() == DataType.F32)) {
            throw new CommException(
                    ErrorCode.USAGE,
                    what + " cannot be compressed: compression is for reductions of f32 (allReduce, reduce,"
                            + " reduceScatter). Call the operation on the group itself.");
        }
    }
}
