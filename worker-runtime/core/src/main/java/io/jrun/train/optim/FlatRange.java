package io.jrun.train.optim;

import java.util.List;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Neighbouring parameters of one group with neighbouring gradients and equal numbers of steps, or a part of such
 * parameters.
 *
 * @param isFirst whether this range is the first part of its members; the first part counts the steps
 * @param parameters the tensor that the kernel updates: the parameters, or their float32 master copies
 * @param gradients the tensor that the kernel reads, of the same type as {@code parameters}
 * @param states one tensor for each of the rule's states
 * @param counts the number of steps of each member, float32 on the device of the parameters; null on the CPU, where the
 *     members count
 * @param narrow the parameters and gradients of fewer than 32 bits; null if the kernel works on the parameters
 */
record FlatRange(
        List<FlatParameter> members,
        boolean isFirst,
        Tensor parameters,
        Tensor gradients,
        List<Tensor> states,
        @Nullable Tensor counts,
        @Nullable Narrow narrow)
        implements AutoCloseable {

    /** The model's own parameters and gradients. */
    record Narrow(Tensor parameters, Tensor gradients) {}

    int group() {
        return members.getFirst().group();
    }

    long steps() {
        return members.getFirst().steps();
    }

    /** The count of one member, for the kernel: all members have made the same steps. */
    Tensor count() {
        return Objects.requireNonNull(counts).narrow(0, 0, 1);
    }

    /** Gives the kernel the gradients as float32. */
    void widen() {
        if (narrow != null) {
            gradients.copy_(narrow.gradients());
        }
    }

    /** Rounds the updated float32 parameters into the model's parameters. */
    void narrowResult() {
        if (narrow != null) {
            narrow.parameters().copy_(parameters);
        }
    }

    void stepDone(long number) {
        if (isFirst) {
            members.forEach(member -> member.stepDone(number));
        }
    }

    @Override
    public void close() {
        parameters.releaseReference();
        gradients.releaseReference();
        states.forEach(Tensor::releaseReference);
        if (counts != null) {
            counts.releaseReference();
        }
        if (narrow != null) {
            narrow.parameters().releaseReference();
            narrow.gradients().releaseReference();
        }
    }
}
