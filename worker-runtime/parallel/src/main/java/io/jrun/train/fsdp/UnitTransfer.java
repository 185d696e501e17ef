package io.jrun.train.fsdp;

import io.jrun.comm.Device;
import io.jrun.comm.Work;
import io.jrun.train.tensor.DeviceWaits;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Collectives under way that move one unit. Confined to the training thread. */
final class UnitTransfer {
    private final String unit;
    private final CommunicationSpan.Kind kind;
    private final long bytes;
    private final List<Work> works;
    private final Device device;
    private final Consumer<CommunicationSpan> spans;
    private final long launchedNanos;
    private final AtomicInteger running;
    private volatile long endedNanos;

    /**
     * Collectives that have begun.
     *
     * @param bytes see {@link CommunicationSpan}
     * @param launchedNanos when the first of them was queued
     * @param device the device of the unit
     */
    UnitTransfer(
            String unit,
            CommunicationSpan.Kind kind,
            long bytes,
            long launchedNanos,
            List<Work> works,
            Device device,
            Consumer<CommunicationSpan> spans) {
        this.unit = unit;
        this.kind = kind;
        this.bytes = bytes;
        this.launchedNanos = launchedNanos;
        this.works = List.copyOf(works);
        this.device = device;
        this.spans = spans;
        this.running = new AtomicInteger(works.size());
        for (Work work : works) {
            var _ = work.future().whenComplete((_, _) -> ended());
        }
    }

    private void ended() {
        if (running.decrementAndGet() == 0) {
            endedNanos = System.nanoTime();
        }
    }

    /** Waits for the end of all collectives. On a GPU the default stream waits, and the host does not. */
    void await() {
        long begin = System.nanoTime();
        works.forEach(work -> DeviceWaits.order(work, device));
        long now = System.nanoTime();
        long ended = endedNanos == 0 ? now : endedNanos;
        spans.accept(new CommunicationSpan(unit, kind, bytes, launchedNanos, ended, now - begin));
    }
}
