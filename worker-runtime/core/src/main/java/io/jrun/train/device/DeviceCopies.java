package io.jrun.train.device;

import io.jrun.comm.Device;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.DeviceGuardImplInterface;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Copies batches from host memory to a device. Batches for the CPU stay as they are. A batch for a GPU goes through
 * pinned memory, and a stream of its own copies it: the copy runs beside the work that the GPU has queued, and the host
 * does not wait. Work that the caller queues later runs after the copy.
 *
 * <p>The object has pinned memory of {@value #SLOTS} batches. A further batch waits until the copy of the batch before
 * these is done. Confined to one thread.
 */
public final class DeviceCopies implements AutoCloseable {
    /** One batch is written while the copies of the others are under way. */
    private static final int SLOTS = 3;

    private final Device device;
    private final @Nullable CopyStream stream;

    private DeviceCopies(Device device, @Nullable CopyStream stream) {
        this.device = device;
        this.stream = stream;
    }

    /** Copies to a device. */
    public static DeviceCopies to(Device device) {
        return new DeviceCopies(device, TensorMemory.computing(device).isCpu() ? null : new CopyStream(device));
    }

    /** The device of the copies. */
    public Device device() {
        return device;
    }

    /**
     * The tensors on the device, in the same order; made in the PointerScope of the caller.
     *
     * @param batch contiguous tensors in host memory, which the caller may free after the call
     */
    public List<Tensor> copy(List<Tensor> batch) {
        return stream == null ? batch : stream.copy(batch);
    }

    /** Waits for the copies, and frees the pinned memory. */
    @Override
    public void close() {
        if (stream != null) {
            stream.close();
        }
    }

    /** The stream, and the pinned memory of the last batches. */
    private static final class CopyStream {
        private final org.bytedeco.pytorch.Device place;
        private final DeviceGuardImplInterface functions;
        private final Stream side;
        private final Slot[] slots = new Slot[SLOTS];
        private int next;

        CopyStream(Device device) {
            place = new org.bytedeco.pytorch.Device(device.toString());
            place.retainReference();
            functions = torch.getDeviceGuardImpl(place.type());
            side = functions.getStreamFromGlobalPool(place, false);
            side.retainReference();
            for (int i = 0; i < SLOTS; i++) {
                slots[i] = new Slot(functions, place.index());
            }
        }

        List<Tensor> copy(List<Tensor> batch) {
            Slot slot = slots[next];
            next = (next + 1) % SLOTS;
            slot.awaitCopy();
            try (NoGradGuard _ = new NoGradGuard();
                    Stream using = functions.getStream(place)) {
                List<Tensor> pinned = slot.fill(batch);
                List<Tensor> copies = new ArrayList<>();
                Stream _ = functions.exchangeStream(side);
                try {
                    for (Tensor host : pinned) {
                        copies.add(host.to(place, host.scalar_type(), true, false, new MemoryFormatOptional()));
                    }
                    slot.copied.record(side);
                } finally {
                    Stream _ = functions.exchangeStream(using);
                }
                slot.copied.block(using);
                copies.forEach(copy -> copy.record_stream(using)); // The memory is of the other stream.
                return copies;
            }
        }

        void close() {
            for (Slot slot : slots) {
                slot.close();
            }
            side.close();
            place.close();
        }
    }

    /** Pinned memory for the tensors of one batch, and the event behind its copy. */
    private static final class Slot {
        private final DeviceEvent copied;
        private final List<Tensor> memory = new ArrayList<>();

        Slot(DeviceGuardImplInterface functions, byte index) {
            copied = new DeviceEvent(functions, index);
        }

        void awaitCopy() {
            copied.await();
        }

        List<Tensor> fill(List<Tensor> batch) {
            List<Tensor> filled = new ArrayList<>();
            for (int i = 0; i < batch.size(); i++) {
                if (i == memory.size()) {
                    memory.add(pinned(batch.get(i)));
                } else if (!TensorMemory.form(memory.get(i)).equals(TensorMemory.form(batch.get(i)))) {
                    memory.set(i, pinned(batch.get(i))).close();
                }
                TensorMemory.copy(batch.get(i), memory.get(i));
                filled.add(memory.get(i));
            }
            return filled;
        }

        private static Tensor pinned(Tensor like) {
            try (TensorOptions plain =
                            TensorMemory.options(Device.CPU, like.scalar_type().intern());
                    BoolOptional yes = new BoolOptional(true);
                    TensorOptions options = plain.pinned_memory(yes)) {
                return TensorMemory.own(torch.empty(TensorMemory.sizes(like), options, new MemoryFormatOptional()));
            }
        }

        void close() {
            copied.close();
            memory.forEach(Tensor::close);
        }
    }
}
