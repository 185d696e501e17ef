package io.jrun.train.device;

import java.util.List;
import org.bytedeco.pytorch.Generator;

/**
 * Work of a device that is recorded once and then repeated as one unit: a CUDA graph. A replay needs one call of the host
 * in place of a call for each kernel.
 *
 * <p>The work reads and writes the same memory in each replay: its inputs are copied into tensors that the work has read
 * when it was recorded. The host does not run again: numbers that the host has given to the work keep their values. Before
 * {@link #record} the same work must have run on the stream of the graph. Confined to one thread.
 *
 * <p>A wrapper of {@code DistributedDataParallel} and hooks of parameters ({@code LeafHooks}) are made while
 * {@link #onStream} is open: their backward nodes run on the stream that is current when they are made.
 */
public interface StepGraph extends AutoCloseable {
    /** The stream of the graph is the current stream of a thread. */
    interface OpenStream extends AutoCloseable {
        /** Makes the default stream the current stream again. Its later work runs after the work of the graph's stream. */
        @Override
        void close();
    }

    /**
     * Makes the stream of the graph libtorch's current stream of this thread. Later work runs after the work that the
     * default stream holds. The host does not wait. The current stream before is the default stream.
     */
    OpenStream onStream();

    /**
     * Records work, which does not run. Called once, while {@link #onStream} is open.
     *
     * @param generators the random generators of the work, without the default generator of the device; those of other
     *     devices are left out
     * @param work queues work on the current stream of the thread and, by backward passes, of libtorch's threads
     * @throws IllegalStateException if earlier work of the device has failed, or if this is the second call
     * @throws GraphCaptureException if a graph cannot hold the work. The process must not use the device any further.
     */
    void record(List<Generator> generators, Runnable work);

    /**
     * Queues the recorded work. Called while {@link #onStream} is open.
     *
     * @throws IllegalStateException if earlier work of the device has failed
     */
    void replay();

    @Override
    void close();
}
