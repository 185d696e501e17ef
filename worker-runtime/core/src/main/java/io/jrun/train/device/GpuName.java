package io.jrun.train.device;

import io.jrun.comm.Device;
import java.util.Optional;

/** The name of a GPU, from the driver. Stateless. */
public final class GpuName {
    private GpuName() {}

    /** The name of a device, such as {@code NVIDIA H100 80GB HBM3}; empty if the driver does not know the device. */
    public static Optional<String> of(Device device) {
        return CudaDriver.name(device);
    }
}
