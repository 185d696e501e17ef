package io.jrun.comm.staging;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import org.jspecify.annotations.Nullable;

/** Results on their way back to device memory. Thread-safe. */
interface Returning {
    /** The device of the results. */
    Device device();

    /** Whether all results are in device memory. Cheap. */
    boolean hasReturned();

    /** Marks the operation as ended; called once. */
    void complete(@Nullable CommException failure);
}
