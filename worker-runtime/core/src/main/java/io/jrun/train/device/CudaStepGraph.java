package io.jrun.train.device;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.cuda.StreamCapture;
import io.jrun.train.tensor.DeviceWaits;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.bytedeco.pytorch.Generator;
import org.jspecify.annotations.Nullable;

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
    private @Nullable LibtorchGraph graph;

    /** @param device is the current device of this thread */
    CudaStepGraph(Device device, LibtorchDevice libtorch) {
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
        return () -> {
            libtorch.setStream(Cuda.DEFAULT_STREAM);
            if (capture.status(stream) == StreamCapture.Status.NONE) {
                cuda.record(after, stream);
                cuda.await(Cuda.DEFAULT_STREAM, after);
            }
        };
    }

    @Override
    public void record(List<Generator> generators, Runnable work) {
        libtorch.freeUnusedMemory();
        LibtorchGraph made = new LibtorchGraph();
        generators.forEach(generator -> made.register(MemorySegment.ofAddress(generator.address())));
        try (DeviceWaits.Refusal _ = DeviceWaits.refuse()) {
            made.begin();
            work.run();
            if (capture.status(stream) != StreamCapture.Status.ACTIVE) {
                throw new IllegalStateException(
                        "a call of CUDA that a graph cannot hold, such as a wait or an allocation, has ended the capture");
            }
        } catch (RuntimeException failure) {
            capture.abandon(stream);
            throw GraphCaptureException.of(failure);
        } catch (Error failure) {
            capture.abandon(stream);
            throw failure;
        }
        made.end();
        graph = made; // libtorch still refers to the graph of an abandoned capture, which is not freed
    }

    @Override
    public void replay() {
        LibtorchGraph recorded = graph;
        if (recorded == null) {
            throw new IllegalStateException("nothing is recorded");
        }
        recorded.replay();
    }

    /** The stream stays: libtorch keeps the memory that was allocated on it. */
    @Override
    public void close() {
        if (graph != null) {
            graph.close();
        }
        cuda.destroyEvent(before);
        cuda.destroyEvent(after);
        libtorch.close();
    }
}
