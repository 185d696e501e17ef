package io.jrun.train.reducer;

import io.jrun.comm.Device;
import io.jrun.comm.Work;
import io.jrun.train.tensor.DeviceWaits;

/**
 * A reduction that is one operation of the group. Records when the operation ended, also if no thread waited for the
 * end.
 */
final class WorkReduction implements BucketReduction {
    private final Work work;
    private final Device device;
    private volatile long endedNanos;

    /** @param device the device of the bucket */
    WorkReduction(Work work, Device device) {
        this.work = work;
        this.device = device;
        var _ = work.future().whenComplete((_, _) -> endedNanos = System.nanoTime());
    }

    @Override
    public void finish() {
        DeviceWaits.order(work, device);
    }

    /** The time at which the operation ended, as a value of {@link System#nanoTime}; 0 while the operation runs. */
    long endedNanos() {
        return endedNanos;
    }
}
