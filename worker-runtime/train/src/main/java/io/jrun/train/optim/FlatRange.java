package io.jrun.train.optim;

import java.util.List;
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
 * @param narrow the parameters and gradients of fewer than 32 bits; null if the kernel works on the parameters
 */
record FlatRange(
        List<FlatParameter> members,
        boolean isFirst,
        Tensor parameters,
        Tensor gradients,
        List<Tensor> states,
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

    void stepDone() {
        if (isFirst) {
            members.forEach(member -> member.setSteps(member.steps() + 1));
        }
    }

    @Override
    public void close() {
        parameters.releaseReference();
        gradients.releaseReference();
        states.forEach(Tensor::releaseReference);
        if (narrow != null) {
            narrow.parameters().releaseReference();
            narrow.gradients().releaseReference();
        }
    }
}
