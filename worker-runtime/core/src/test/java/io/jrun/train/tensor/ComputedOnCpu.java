package io.jrun.train.tensor;

import io.jrun.comm.Device;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * A device whose tensors libtorch computes on the CPU, for tests of one rank without collectives. While it is open, all
 * tensors of the process are on the device.
 */
public final class ComputedOnCpu implements MemoryPlacement, AutoCloseable {
    private static final LibtorchPlacement LIBTORCH = new LibtorchPlacement();

    private final Device device;

    private ComputedOnCpu(Device device) {
        this.device = device;
    }

    /** Puts all tensors on {@code device} until the object is closed. */
    public static ComputedOnCpu as(Device device) {
        ComputedOnCpu placement = new ComputedOnCpu(device);
        TensorMemory.setPlacement(placement);
        return placement;
    }

    @Override
    public Device device(Tensor tensor) {
        return device;
    }

    @Override
    public long address(Tensor tensor) {
        return LIBTORCH.address(tensor);
    }

    @Override
    public Device computing(Device of) {
        return Device.CPU;
    }

    @Override
    public Tensor onHost(Tensor tensor) {
        return LIBTORCH.onHost(tensor);
    }

    @Override
    public Tensor onDevice(Tensor onHost, Device of) {
        return onHost.clone();
    }

    @Override
    public TensorOptions options(Device of, torch.ScalarType type) {
        return LIBTORCH.options(Device.CPU, type);
    }

    @Override
    public Tensor empty(Device of, torch.ScalarType type, long... sizes) {
        return LIBTORCH.empty(Device.CPU, type, sizes);
    }

    @Override
    public Tensor over(MemorySegment memory, Device of, torch.ScalarType type, long... sizes) {
        return LIBTORCH.over(memory, Device.CPU, type, sizes);
    }

    @Override
    public void close() {
        TensorMemory.setPlacement(LIBTORCH);
    }
}
