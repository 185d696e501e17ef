package io.jrun.train.precision;

import io.jrun.comm.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A scope in which libtorch runs matrix products and convolutions in fewer bits, and operations that need more range in
 * float32. Weights are cast once for each scope. Open the scope around the forward pass and the loss, not around the
 * backward pass.
 *
 * <p>Attention in bfloat16 is slow on the CPU: call {@link ScaledAttention#apply} in place of libtorch's function.
 *
 * <p>Confined to the thread that opens the scope. Scopes may be nested and must be closed in reverse order.
 */
public final class Autocast implements AutoCloseable {
    private final AutocastState before = AutocastState.current();

    Autocast(AutocastState settings) {
        settings.apply();
        torch.increment_nesting();
    }

    private static Autocast open(torch.DeviceType device, torch.ScalarType type, boolean enabled) {
        return AutocastState.current().with(device, enabled, type).open();
    }

    /** Opens a scope of bfloat16 on the CPU. */
    public static Autocast cpuBfloat16() {
        return on(Device.CPU, torch.ScalarType.BFloat16);
    }

    /**
     * Opens a scope for the operations on a device.
     *
     * @param device the CPU or a GPU; the scope is for all GPUs of this process
     * @param type bfloat16, or float16 with a scaled loss: see {@link LossScaler}
     */
    public static Autocast on(Device device, torch.ScalarType type) {
        return open(typeOf(device), type, true);
    }

    /** Opens a scope without autocast for the operations on a device, see {@link #off(torch.DeviceType)}. */
    public static Autocast off(Device device) {
        return off(typeOf(device));
    }

    /** Opens a scope without autocast inside another scope: operations run in the types of their operands. */
    public static Autocast off(torch.DeviceType device) {
        return open(device, torch.get_autocast_dtype(device), false);
    }

    private static torch.DeviceType typeOf(Device device) {
        return device.isCpu() ? torch.DeviceType.CPU : torch.DeviceType.CUDA;
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
        before.apply();
    }
}
