package io.jrun.train.device;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.cuda.StreamCapture;
import io.jrun.train.tensor.DeviceWaits;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.bytedeco.pytorch.Generator;

/** A graph of libtorch over a stream of its own. */
final class CudaStepGraph implements StepGraph {
    /** The part of libtorch that the presets map. */
    interface LibtorchDevice extends AutoCloseable {
        /**
         * Changes the current stream of the calling thread.
         *
         * @param stream a {@code cudaStream_t}; NULL for the default stream
         */
        void setStream(MemorySegment stream);

        /** Whether a generator makes the numbers of this device. libtorch's graphs take no other generators. */
        boolean owns(Generator generator);

        /** Gives the device back the memory that no tensor uses: the memory of a graph is allocated anew. */
        void freeUnusedMemory();

        @Override
        void close();
    }

    private final Cuda cuda;
    private final StreamCapture capture;
    private final LibtorchDevice libtorch;
    private final MemorySegment stream;
    private final MemorySegment before;
    private final MemorySegment after;
    private final LibtorchGraph graph;
    private boolean isOnStream;
    private boolean hasBegun;
    private boolean isRecorded;

    /**
     * Makes an empty graph and its stream.
     *
     * @param device becomes the current device of this thread
     * @param graph an unused object
     * @throws io.jrun.comm.cuda.MissingLibraryException if there is no CUDA runtime, or if it is too old
     */
    CudaStepGraph(Device device, LibtorchGraph graph, LibtorchDevice libtorch) {
        this.graph = graph;
        this.libtorch = libtorch;
        cuda = Cuda.open();
        capture = StreamCapture.open();
        cuda.use(device.index());
        stream = cuda.stream();
        before = cuda.event();
        after = cuda.event();
    }

    @Override
    public OpenStream onStream() {
        cuda.record(before, Cuda.DEFAULT_STREAM);
        cuda.await(stream, before);
        libtorch.setStream(stream);
        isOnStream = true;
        return () -> {
            isOnStream = false;
            libtorch.setStream(Cuda.DEFAULT_STREAM);
            if (capture.status(stream) == StreamCapture.Status.NONE) {
                cuda.record(after, stream);
                cuda.await(Cuda.DEFAULT_STREAM, after);
            }
        };
    }

    @Override
    public void record(List<Generator> generators, Runnable work) {
        if (hasBegun) {
            throw new IllegalStateException("a graph records once");
        }
        requireUsable("record");
        libtorch.freeUnusedMemory();
        graph.create();
        generators.stream()
                .filter(libtorch::owns)
                .forEach(generator -> graph.register(MemorySegment.ofAddress(generator.address())));
        hasBegun = true;
        try (DeviceWaits.Refusal _ = DeviceWaits.refuse()) {
            graph.begin();
            work.run();
        } catch (RuntimeException failure) {
            abandon(failure);
            throw GraphCaptureException.of(failure);
        } catch (Error failure) {
            abandon(failure);
            throw failure;
        }
        if (capture.status(stream) != StreamCapture.Status.ACTIVE) {
            capture.abandon(stream);
            throw GraphCaptureException.withoutPlace(
                    "a call of CUDA that a graph cannot hold, such as a wait or an allocation, has ended the capture");
        }
        graph.end();
        isRecorded = true;
    }

    private void abandon(Throwable failure) {
        try {
            capture.abandon(stream);
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    @Override
    public void replay() {
        if (!isRecorded) {
            throw new IllegalStateException("nothing is recorded");
        }
        requireUsable("replay");
        graph.replay();
    }

    /** Finds the errors here that would end the process as exceptions of C++. After a fault of a GPU, each query fails. */
    private void requireUsable(String what) {
        if (!isOnStream) {
            throw new IllegalStateException("a graph can " + what + " only while onStream() is open");
        }
        try {
            boolean _ = cuda.isDone(stream);
        } catch (IllegalStateException e) {
            throw new IllegalStateException(
                    "the graph cannot " + what + ": earlier work of the GPU has failed: " + e.getMessage(), e);
        }
    }

    /**
     * The stream stays: libtorch keeps the memory that was allocated on it. The object of an abandoned capture stays:
     * libtorch still refers to it.
     */
    @Override
    public void close() {
        if (isRecorded) {
            graph.close();
        }
        cuda.destroyEvent(before);
        cuda.destroyEvent(after);
        libtorch.close();
    }
}
