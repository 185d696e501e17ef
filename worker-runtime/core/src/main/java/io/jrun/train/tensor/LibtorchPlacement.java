package io.jrun.train.tensor;

import io.jrun.comm.Device;
import java.lang.foreign.MemorySegment;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** Tensors lie where libtorch has put them, and libtorch allocates the memory of each device. Stateless. */
final class LibtorchPlacement implements MemoryPlacement {
    @Override
    public Device device(Tensor tensor) {
        if (tensor.is_cpu()) {
            return Device.CPU;
        }
        try (org.bytedeco.pytorch.Device device = tensor.device();
                BytePointer name = device.str()) {
            String[] typeAndIndex = name.getString().split(":", 2);
            return new Device(typeAndIndex[0], Math.max(0, device.index()));
        }
    }

    @Override
    public long address(Tensor tensor) {
        Pointer first = tensor.data_ptr();
        return first == null ? 0 : first.address();
    }

    @Override
    public Device computing(Device device) {
        return device;
    }

    @Override
    public TensorOptions options(Device device, torch.ScalarType type) {
        TensorOptions options = new TensorOptions(type);
        if (device.isCpu()) {
            return options;
        }
        try (org.bytedeco.pytorch.Device place = new org.bytedeco.pytorch.Device(device.toString());
                DeviceOptional given = new DeviceOptional(place);
                TensorOptions _ = options) {
            return options.device(given);
        }
    }

    @Override
    public Tensor empty(Device device, torch.ScalarType type, long... sizes) {
        try (TensorOptions options = options(device, type);
                MemoryFormatOptional format = new MemoryFormatOptional()) {
            return torch.empty(sizes, options, format);
        }
    }

    @Override
    public Tensor onHost(Tensor tensor) {
        return tensor.cpu();
    }

    @Override
    public Tensor onDevice(Tensor onHost, Device device) {
        try (org.bytedeco.pytorch.Device place = new org.bytedeco.pytorch.Device(device.toString())) {
            return onHost.to(place, onHost.scalar_type());
        }
    }

    @Override
    public Tensor over(MemorySegment memory, Device device, torch.ScalarType type, long... sizes) {
        try (TensorOptions options = options(device, type)) {
            return torch.from_blob(TensorMemory.pointer(memory), sizes, options);
        }
    }
}
