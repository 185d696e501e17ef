package io.jrun.train.optim;

import io.jrun.train.tensor.DeviceWaits;
import org.bytedeco.pytorch.Tensor;

/**
 * Updates the parameters of a model by their gradients: jrun's optimizers over flat memory, with whole states or with
 * states that ranks share, and libtorch's optimizers. One thread at a time.
 */
public interface ParameterOptimizer extends AutoCloseable {
    /** Sets the gradients to zero, or drops them, also those of passes in a scope without reduction. */
    void zeroGradients();

    /** Updates every parameter that has a gradient. */
    void step();

    /**
     * Updates every parameter that has a gradient, unless the device finds {@code skip} to be 1. An optimizer without a
     * kernel that reads {@code skip} waits for the device.
     *
     * @param skip a float32 tensor of one element on the device of the parameters, such as the result of
     *     {@code DeviceLossScaler.unscale}
     */
    default void step(Tensor skip) {
        if (DeviceWaits.number(skip) == 0) {
            step();
        }
    }

    /** The number of steps, without steps that the program has left out. */
    long steps();

    /** Frees the states. The parameters keep their values. */
    @Override
    void close();
}
