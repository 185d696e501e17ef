package io.jrun.train.precision;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A scope in which libtorch runs matrix products and convolutions in fewer bits, and what needs more range in float32. Weights
 * are cast once for each scope. Open the scope around the forward pass and the loss, not around the backward pass.
 *
 * <p>Confined to the thread that opens the scope. Scopes may be nested and must be closed in reverse order.
 */
public final class Autocast implements AutoCloseable {
    private final torch.DeviceType device;
    private final boolean enabledBefore;
    private final torch.ScalarType typeBefore;

    private Autocast(torch.DeviceType device, torch.ScalarType type, boolean enabled) {
        this.device = device;
        enabledBefore = torch.is_autocast_enabled(device);
        typeBefore = torch.get_autocast_dtype(device);
        torch.set_autocast_enabled(device, enabled);
        torch.set_autocast_dtype(device, type);
        torch.increment_nesting();
    }

    /** Runs in bfloat16 on the CPU. */
    public static Autocast cpuBfloat16() {
        return new Autocast(torch.DeviceType.CPU, torch.ScalarType.BFloat16, true);
    }

    /** Runs in bfloat16 or float16 on CUDA devices. */
    public static Autocast cuda(torch.ScalarType type) {
        return new Autocast(torch.DeviceType.CUDA, type, true);
    }

    /** Runs in the types of the operands within another scope. */
    public static Autocast off(torch.DeviceType device) {
        return new Autocast(device, torch.get_autocast_dtype(device), false);
    }

    /** Whether a scope is open for the device of a tensor. */
    public static boolean isOnFor(Tensor tensor) {
        return torch.is_autocast_enabled(tensor.device().type());
    }

    @Override
    public void close() {
        if (torch.decrement_nesting() == 0) {
            torch.clear_cache();
        }
        torch.set_autocast_enabled(device, enabledBefore);
        torch.set_autocast_dtype(device, typeBefore);
    }
}
