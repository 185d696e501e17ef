package io.jrun.train.nccl;

import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/** The events of one device, which later operations use again: to make an event costs a call of the driver. Thread-safe. */
final class DeviceEvents {
    private final Cuda cuda;
    private final ArrayDeque<MemorySegment> free = new ArrayDeque<>();
    private boolean isClosed;

    DeviceEvents(Cuda cuda) {
        this.cuda = cuda;
    }

    /** Takes an event. The device is the current device of this thread. */
    MemorySegment take() {
        MemorySegment event;
        synchronized (this) {
            event = free.poll();
        }
        return event == null ? cuda.event() : event;
    }

    /** Gives back an event for which no later call waits. Streams may still wait for its last record. */
    void giveBack(MemorySegment event) {
        synchronized (this) {
            if (!isClosed) {
                free.push(event);
                return;
            }
        }
        cuda.destroyEvent(event);
    }

    /** Destroys the events. The device is the current device of this thread. */
    synchronized void close() {
        isClosed = true;
        free.forEach(cuda::destroyEvent);
        free.clear();
    }
}
