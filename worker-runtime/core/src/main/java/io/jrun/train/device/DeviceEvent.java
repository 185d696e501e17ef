package io.jrun.train.device;

import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.pytorch.DeviceGuardImplInterface;
import org.bytedeco.pytorch.Stream;
import org.bytedeco.pytorch.global.torch;

/** A place in a stream of a device, which the host and other streams can await. Confined to one thread. */
final class DeviceEvent implements AutoCloseable {
    private final DeviceGuardImplInterface functions;
    private final byte index;
    private final PointerPointer<Pointer> event = new PointerPointer<>(1);

    /** @param index of the device */
    DeviceEvent(DeviceGuardImplInterface functions, byte index) {
        this.functions = functions;
        this.index = index;
        event.put(0, null);
        event.retainReference();
    }

    private boolean isRecorded() {
        return event.get(0) != null;
    }

    /** Moves the event behind the work that a stream has. */
    void record(Stream stream) {
        functions.record(event, stream, index, torch.EventFlag.PYTORCH_DEFAULT);
    }

    /** Waits on the host for the work before the event. Returns at once if nothing was recorded. */
    void await() {
        if (isRecorded()) {
            functions.synchronizeEvent(event.get(0));
        }
    }

    /** Lets later work of a stream wait for the work before the event, which was recorded. */
    void block(Stream stream) {
        functions.block(event.get(0), stream);
    }

    /** Waits, and frees the event. */
    @Override
    public void close() {
        await();
        if (isRecorded()) {
            functions.destroyEvent(event.get(0), index);
        }
        event.close();
    }
}
