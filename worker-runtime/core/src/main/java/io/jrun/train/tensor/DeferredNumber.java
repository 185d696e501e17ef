package io.jrun.train.tensor;

import org.bytedeco.pytorch.Tensor;

/**
 * A number that a device may still compute. A program that needs the number in few steps only, such as the loss that it
 * prints, waits in these steps only. Valid until the {@code PointerScope} of its tensor ends.
 */
public sealed interface DeferredNumber {
    /** The value. Waits for the device that computes it, see {@link DeviceWaits}. */
    double value();

    /** A number that the host knows. */
    static DeferredNumber of(double value) {
        return new Known(value);
    }

    /** The only element of a tensor. */
    static DeferredNumber of(Tensor scalar) {
        return new OnDevice(scalar);
    }

    /** A number that the host knows. */
    record Known(double value) implements DeferredNumber {}

    /** A number on a device. */
    record OnDevice(Tensor scalar) implements DeferredNumber {
        @Override
        public double value() {
            return DeviceWaits.number(scalar);
        }
    }
}
