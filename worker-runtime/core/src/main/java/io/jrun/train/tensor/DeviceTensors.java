package io.jrun.train.tensor;

import io.jrun.comm.Device;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * New tensors on a device that the caller names. Layers, models and batches make their tensors here, or with the options
 * of another tensor: a function of libtorch without a device makes a tensor on the CPU, which an operation on a GPU
 * refuses. Stateless.
 */
public final class DeviceTensors {
    private DeviceTensors() {}

    /** Zeros of float32. */
    public static Tensor zeros(Device device, long... sizes) {
        try (TensorOptions options = TensorMemory.options(device, torch.ScalarType.Float)) {
            return torch.zeros(sizes, options);
        }
    }

    /** Ones of float32. */
    public static Tensor ones(Device device, long... sizes) {
        try (TensorOptions options = TensorMemory.options(device, torch.ScalarType.Float)) {
            return torch.ones(sizes, options);
        }
    }

    /** The numbers from 0 to {@code length - 1}, of type Long, on the device of another tensor. */
    public static Tensor range(long length, Tensor like) {
        try (Scalar end = new Scalar(length);
                TensorOptions options = optionsLike(like, torch.ScalarType.Long)) {
            return torch.arange(end, options);
        }
    }

    /** A copy of numbers, of type Long and of the given shape. */
    public static Tensor of(Device device, long[] values, long... sizes) {
        return moved(Tensor.create(values, sizes), device);
    }

    /** A copy of numbers, of type Double and of one dimension. */
    public static Tensor of(Device device, double[] values) {
        return moved(Tensor.create(values), device);
    }

    /** A copy of numbers, of type Float and of the given shape. */
    public static Tensor of(Device device, float[] values, long... sizes) {
        return moved(Tensor.create(values, sizes), device);
    }

    private static Tensor moved(Tensor onHost, Device device) {
        if (device.isCpu()) {
            return onHost;
        }
        try (onHost) {
            return TensorMemory.onDevice(onHost, device);
        }
    }

    /** libtorch's options for new tensors of a type on the device of another tensor. */
    public static TensorOptions optionsLike(Tensor like, torch.ScalarType type) {
        try (TensorOptions options = like.options();
                ScalarTypeOptional given = new ScalarTypeOptional(type)) {
            return options.dtype(given);
        }
    }
}
