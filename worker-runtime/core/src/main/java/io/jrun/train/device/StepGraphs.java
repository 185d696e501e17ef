package io.jrun.train.device;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.MissingLibraryException;
import java.util.function.Function;

/** Makes the graphs of devices. */
public final class StepGraphs {
    private static volatile Function<Device, StepGraph> maker = StepGraphs::ofLibtorch;

    private StepGraphs() {}

    /**
     * An empty graph of a GPU, which becomes the current device of this thread. libtorch's CUDA build is loaded.
     *
     * @throws GraphCaptureException if libtorch or the CUDA runtime lacks a function of graphs
     */
    public static StepGraph of(Device device) {
        return maker.apply(device);
    }

    private static StepGraph ofLibtorch(Device device) {
        try {
            return new CudaStepGraph(device, new LibtorchGraph(), new LibtorchGpu(device));
        } catch (MissingLibraryException e) {
            throw GraphCaptureException.withoutPlace(e.getMessage());
        }
    }

    /** Replaces the graphs, for tests of devices on a machine without these devices. */
    static void setMaker(Function<Device, StepGraph> other) {
        maker = other;
    }
}
