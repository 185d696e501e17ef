package io.jrun.train.device;

import io.jrun.comm.Device;
import java.lang.foreign.MemorySegment;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.DeviceGuardImplInterface;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Stream;
import org.bytedeco.pytorch.global.torch;

/** The streams and the memory of libtorch on a GPU. */
final class LibtorchGpu implements CudaStepGraph.LibtorchDevice {
    private final org.bytedeco.pytorch.Device place;
    private final DeviceGuardImplInterface functions;

    LibtorchGpu(Device device) {
        try (PointerScope _ = new PointerScope()) {
            place = new org.bytedeco.pytorch.Device(device.toString());
            place.retainReference();
            functions = torch.getDeviceGuardImpl(place.type());
        }
    }

    /**
     * The id of a foreign stream is its handle, and the id of the default stream is 0. Source: getStreamFromExternal in
     * c10/cuda/CUDAStream.cpp.
     */
    @Override
    public void setStream(MemorySegment stream) {
        try (PointerScope _ = new PointerScope()) {
            Stream _ = functions.exchangeStream(new Stream(Stream.Unsafe.UNSAFE, place, stream.address()));
        }
    }

    @Override
    public boolean owns(Generator generator) {
        try (PointerScope _ = new PointerScope()) {
            return generator.device().equals(place);
        }
    }

    @Override
    public void freeUnusedMemory() {
        torch.emptyCache();
    }

    @Override
    public void close() {
        place.close();
    }
}
