package io.jrun.train.device;

import io.jrun.comm.Device;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.DeviceGuardImplInterface;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Copies tensors to host memory. Tensors of a GPU are copied by a stream of its own, after the work that the program has
 * queued before: the copy runs beside the work that the program queues later, and the host does not wait. Other tensors
 * are copied at once. Confined to one thread.
 */
public final class HostCopies implements AutoCloseable {
    private final Map<Device, CopyStream> streams = new LinkedHashMap<>();

    /**
     * Begins copies. Until {@link #await} returns, the program changes no tensor of {@code from}, and reads and frees no
     * memory of {@code to}. The program may free the tensors of {@code from}.
     *
     * @param from tensors of any devices
     * @param to row-major tensors of the same types and shapes in host memory; a copy of a GPU to memory that is not
     *     pinned waits for the GPU
     */
    public void begin(List<Tensor> from, List<Tensor> to) {
        Map<Device, List<Integer>> later = new LinkedHashMap<>();
        for (int i = 0; i < from.size(); i++) {
            Device device = TensorMemory.device(from.get(i));
            if (TensorMemory.computing(device).isCpu()) {
                TensorMemory.copy(from.get(i), to.get(i));
            } else {
                later.computeIfAbsent(device, _ -> new ArrayList<>()).add(i);
            }
        }
        later.forEach((device, numbers) -> streams.computeIfAbsent(device, CopyStream::new)
                .begin(
                        numbers.stream().map(from::get).toList(),
                        numbers.stream().map(to::get).toList()));
    }

    /** Waits until the copies that were begun are done. */
    public void await() {
        streams.values().forEach(CopyStream::await);
    }

    /** Waits for the copies, and frees the streams. The object can be used again. */
    @Override
    public void close() {
        streams.values().forEach(CopyStream::close);
        streams.clear();
    }

    /** The stream of the copies of one device. */
    private static final class CopyStream {
        private final org.bytedeco.pytorch.Device place;
        private final DeviceGuardImplInterface functions;
        private final Stream side;
        private final DeviceEvent queued;
        private final DeviceEvent copied;

        CopyStream(Device device) {
            place = new org.bytedeco.pytorch.Device(device.toString());
            place.retainReference();
            functions = torch.getDeviceGuardImpl(place.type());
            side = functions.getStreamFromGlobalPool(place, false);
            side.retainReference();
            queued = new DeviceEvent(functions, place.index());
            copied = new DeviceEvent(functions, place.index());
        }

        void begin(List<Tensor> from, List<Tensor> to) {
            try (NoGradGuard _ = new NoGradGuard();
                    Stream using = functions.getStream(place)) {
                queued.record(using);
                queued.block(side);
                Stream _ = functions.exchangeStream(side);
                try {
                    for (int i = 0; i < from.size(); i++) {
                        from.get(i).record_stream(side); // The program may free the tensor during the copy.
                        to.get(i).copy_(from.get(i), true);
                    }
                } finally {
                    copied.record(side);
                    Stream _ = functions.exchangeStream(using);
                }
            }
        }

        void await() {
            copied.await();
        }

        void close() {
            copied.close();
            queued.close();
            side.close();
            place.close();
        }
    }
}
