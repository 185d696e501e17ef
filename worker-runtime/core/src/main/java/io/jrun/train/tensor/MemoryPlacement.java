package io.jrun.train.tensor;

import io.jrun.comm.Device;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Where the elements of tensors lie. {@link TensorMemory} uses {@link LibtorchPlacement}. A test on a machine without a
 * GPU uses another placement: libtorch then computes on the CPU, and the JVM gets addresses that nobody can read, as
 * those of a GPU. Thread-safe.
 */
interface MemoryPlacement {
    /** The device of the elements. */
    Device device(Tensor tensor);

    /** The address of the first element on the device. */
    long address(Tensor tensor);

    /** The device on which libtorch computes with the tensors of a device. */
    Device computing(Device device);

    /** libtorch's options for new tensors that no collective uses, such as intermediate results. */
    TensorOptions options(Device device, torch.ScalarType type);

    /** A new tensor for collectives, with undefined elements. */
    Tensor empty(Device device, torch.ScalarType type, long... sizes);

    /** The elements in host memory: a reference to the tensor itself, or a copy for which the host waits. */
    Tensor onHost(Tensor tensor);

    /** A copy of a tensor of the host on another device. */
    Tensor onDevice(Tensor onHost, Device device);

    /** A row-major tensor over memory of the device. */
    Tensor over(MemorySegment memory, Device device, torch.ScalarType type, long... sizes);
}
