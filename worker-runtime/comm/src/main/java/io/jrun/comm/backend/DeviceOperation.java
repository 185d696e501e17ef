package io.jrun.comm.backend;

import io.jrun.comm.DeviceStream;
import java.util.concurrent.CompletableFuture;

/**
 * One operation on device memory, from the call of the program to its end on the device. {@link Backend#onDevice} makes
 * the operation on the thread of the program. The operation runs after all work that the default stream of the device
 * holds at that time. Used once. Thread-safe.
 */
public interface DeviceOperation {
    /** The stream with which {@link Backend#onDevice} has ordered the operation. */
    DeviceStream defaultStream();

    /** Whether the operation was on its stream when it was made, so that {@link #enqueue} need not run before a wait. */
    default boolean isOnStream() {
        return false;
    }

    /**
     * Queues the operation on a stream of the backend. Does not wait for the device. Called once, in call order.
     *
     * @param onStream called as soon as the operation is on the stream; afterwards this method may still compare the
     *     call with the calls of the other ranks
     * @throws io.jrun.comm.CommException as {@link Backend#run}
     */
    void enqueue(Call call, Runnable onStream);

    /**
     * Work that the program queues on {@code stream} from now on runs after the operation. Called after the operation
     * is on its stream. Does not wait.
     *
     * @throws io.jrun.comm.CommException USAGE if the stream is of another device
     */
    void awaitOn(DeviceStream stream);

    /**
     * Completes when the device has run the operation. Fails with a {@code CommException} if the operation has failed,
     * or has not ended at its deadline; the operation has then been ended.
     */
    CompletableFuture<Void> done();
}
