package io.jrun.train.device;

import io.jrun.comm.Device;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The compute capability of a GPU, by which NVIDIA numbers the features of its cards: 8.0 is A100, 8.9 Ada, 9.0 Hopper.
 *
 * @param major the generation
 * @param minor the variant of the generation, 0 to 9
 */
public record ComputeCapability(int major, int minor) {
    private static final Map<Device, ComputeCapability> KNOWN = new ConcurrentHashMap<>();

    /**
     * The capability of a device; empty if the driver does not know the device, as for the CPU, or cannot be loaded.
     * Asks the driver until it has answered once. Thread-safe.
     */
    public static Optional<ComputeCapability> of(Device device) {
        ComputeCapability known = KNOWN.get(device);
        if (known != null) {
            return Optional.of(known);
        }
        Optional<ComputeCapability> found = CudaDriver.capability(device);
        found.ifPresent(capability -> KNOWN.put(device, capability));
        return found;
    }

    /** Whether the card multiplies 8-bit floating point numbers. Source: PyTorch's {@code _scaled_mm}. */
    public boolean hasFloat8Products() {
        return major > 8 || (major == 8 && minor >= 9);
    }

    /** Whether libtorch's flash attention runs on the card. Source: PyTorch's {@code flash_api.cpp}. */
    public boolean hasFlashAttention() {
        return major >= 8;
    }

    @Override
    public String toString() {
        return major + "." + minor;
    }
}
