package io.jrun.train.optim;

import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Neighbouring parameters of one group whose gradients are neighbours too, and which have made equally many steps; or a part
 * of them.
 *
 * @param isFirst whether this is the first part of its members: this part counts their steps
 * @param parameters what the kernel updates: the parameters, or their float32 master copies
 * @param gradients what the kernel reads, of the same type as {@code parameters}
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

    /** Parameters and gradients as the model has them. */
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
