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
 * What a view of a group asks of its calls.
 *
 * @param timeout of each operation, from when it starts to run
 * @param factor that this rank's contributions are multiplied by before they are summed
 * @param wire the 16-bit type in which F32 is reduced; null: as it is
 */
public record CallOptions(
        Duration timeout, double factor, @Nullable DataType wire) {
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
        return new CallOptions(group.timeout(), 1, null);
    }

    public CallOptions withTimeout(Duration newTimeout) {
        return new CallOptions(newTimeout, factor, wire);
    }

    public CallOptions withFactor(double newFactor) {
        return new CallOptions(timeout, newFactor, wire);
    }

    public CallOptions withWire(@Nullable DataType newWire) {
        return new CallOptions(timeout, factor, newWire);
    }

    /** Whether data goes to the data plane as it is. */
    public boolean isPlain() {
        return factor == 1 && wire == null;
    }

    /** The type that an operation of {@code type} moves. */
    public DataType wireType(DataType type) {
        return wire == null ? type : wire;
    }

    /** Throws where the options mean nothing for a call. */
    public void check(Call request) {
        String what = request.kind().methodName() + " of " + request.type().label();
        if (factor != 1
                && !(request.kind().reduces()
                        && request.op() == ReduceOp.SUM
                        && request.type().isFloat())) {
            throw new CommException(
                    ErrorCode.USAGE,
                    what + " cannot be scaled: a factor is for SUM of floating point types (allReduce, reduce,"
                            + " reduceScatter). Call it on the group itself.");
        }
        if (wire != null && !(request.kind().reduces() && request.type() == DataType.F32)) {
            throw new CommException(
                    ErrorCode.USAGE,
                    what + " cannot be compressed: compression is for reductions of f32 (allReduce, reduce,"
                            + " reduceScatter). Call it on the group itself.");
        }
    }
}
