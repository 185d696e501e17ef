package io.jrun.train.device;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.train.Libtorch;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.nccl.SimulatedCuda.LoggedCall;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.SimulatedPlacement;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The graph over the functions of libtorch's class by their names, which the simulated libtorch_cuda has too. */
@Timeout(60)
class StepGraphTest {
    private static final Device GPU = Device.cuda(0);
    private static final DeviceStream DEFAULT = DeviceStream.defaultOf(GPU);

    @TempDir
    private Path folder;

    /** The current stream of the simulated libtorch, and the generators that it says are the device's. */
    private static final class SimulatedLibtorch implements CudaStepGraph.LibtorchDevice {
        private final List<Generator> generators = new ArrayList<>();
        private DeviceStream stream = DEFAULT;

        @Override
        public void setStream(MemorySegment chosen) {
            stream = new DeviceStream(GPU, chosen.address());
            MemorySegment exchange = SymbolLookup.libraryLookup("libtorch_cuda.so", Arena.global())
                    .find("simtorch_exchange_stream")
                    .orElseThrow();
            try {
                long _ = (long) Linker.nativeLinker()
                        .downcallHandle(exchange, FunctionDescriptor.of(JAVA_LONG, ADDRESS))
                        .invokeExact(chosen);
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public boolean owns(Generator generator) {
            return generators.contains(generator);
        }

        @Override
        public void freeUnusedMemory() {}

        @Override
        public void close() {}
    }

    /** The program of the JVM. */
    public static final class Records {
        private Records() {}

        /** Entry point. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            SimulatedLibtorch libtorch = new SimulatedLibtorch();
            replayWithNewInputs(libtorch);
            refuseWaits(libtorch);
            refuseWithoutStream(libtorch);
            reportFault(libtorch);
            System.out.println("done");
        }

        private static void replayWithNewInputs(SimulatedLibtorch libtorch) {
            try (Arena arena = Arena.ofConfined();
                    DeviceMemory input = new DeviceMemory(GPU, 1);
                    DeviceMemory output = new DeviceMemory(GPU, 1);
                    Generator generator = torch.createCPUGenerator(1);
                    Generator ofHost = torch.createCPUGenerator(2);
                    StepGraph graph = graph(libtorch)) {
                libtorch.generators.add(generator);
                MemorySegment host = arena.allocate(1);
                MemorySegment from = input.buffer(DataType.U8).memory();
                MemorySegment to = output.buffer(DataType.U8).memory();
                input.copyFrom(host.fill((byte) 1));
                output.copyFrom(host.fill((byte) 0));
                try (StepGraph.OpenStream _ = graph.onStream()) {
                    graph.record(List.of(ofHost, generator), () -> SimulatedCuda.copy(to, from, libtorch.stream));
                }
                output.copyTo(host);
                assertThat(host.get(JAVA_BYTE, 0)).as("recorded, not run").isZero();
                for (byte value = 2; value < 5; value++) {
                    SimulatedCuda.hold(DEFAULT);
                    SimulatedCuda.copy(from, arena.allocate(1).fill(value), DEFAULT);
                    try (StepGraph.OpenStream _ = graph.onStream()) {
                        graph.replay();
                    }
                    SimulatedCuda.release();
                    output.copyTo(host);
                    assertThat(host.get(JAVA_BYTE, 0)).isEqualTo(value);
                }
            }
        }

        private static StepGraph graph(SimulatedLibtorch libtorch) {
            return new CudaStepGraph(GPU, new LibtorchGraph(), libtorch);
        }

        private static void refuseWaits(SimulatedLibtorch libtorch) {
            SimulatedPlacement.install();
            long waits = DeviceWaits.count();
            try (Tensor number = TensorMemory.empty(GPU, torch.ScalarType.Float, 1)) {
                String place = ", in io\\.jrun\\.train\\.device\\.\\S+ \\(\\w+\\.java:\\d+\\)";
                String refused = "the host waits for the device inside the recorded work";
                refuse(libtorch, () -> DeviceWaits.number(number), refused + place);
                refuse(
                        libtorch,
                        () -> {
                            DeviceWaits.refuse().close();
                            DeviceWaits.number(number);
                        },
                        refused + place);
                DeviceWaits.Refusal closedTwice = DeviceWaits.refuse();
                closedTwice.close();
                closedTwice.close();
                refuse(libtorch, () -> DeviceWaits.number(number), refused + place);
            }
            assertThat(DeviceWaits.count()).isEqualTo(waits);
            refuse(
                    libtorch,
                    () -> SimulatedCuda.query(libtorch.stream),
                    "a call of CUDA that a graph cannot hold, such as a wait or an allocation, has ended the capture");
        }

        private static void refuse(SimulatedLibtorch libtorch, Runnable work, String message) {
            try (StepGraph graph = graph(libtorch)) {
                try (StepGraph.OpenStream _ = graph.onStream()) {
                    assertThatThrownBy(() -> graph.record(List.of(), work))
                            .isInstanceOf(GraphCaptureException.class)
                            .message()
                            .matches(message);
                }
                SimulatedCuda.synchronize(GPU); // fails while a stream is captured
            }
        }

        private static void refuseWithoutStream(SimulatedLibtorch libtorch) {
            try (StepGraph graph = graph(libtorch)) {
                assertThatThrownBy(() -> graph.record(List.of(), () -> {}))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage("a graph can record only while onStream() is open");
            }
        }

        /** The last part: a device that has failed stays so. */
        private static void reportFault(SimulatedLibtorch libtorch) {
            DeviceMemory freed = new DeviceMemory(GPU, 1);
            MemorySegment gone = freed.buffer(DataType.U8).memory();
            freed.close();
            try (Arena arena = Arena.ofConfined();
                    StepGraph graph = graph(libtorch)) {
                try (StepGraph.OpenStream _ = graph.onStream()) {
                    graph.record(List.of(), () -> {});
                }
                assertThatThrownBy(() -> {
                            try (StepGraph.OpenStream _ = graph.onStream()) {
                                SimulatedCuda.copy(gone, arena.allocate(1), libtorch.stream);
                                while (SimulatedCuda.query(libtorch.stream) == Cuda.NOT_READY) {
                                    Thread.onSpinWait();
                                }
                                graph.replay();
                            }
                        })
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage(
                                "the graph cannot replay: earlier work of the GPU has failed: cudaStreamQuery failed"
                                        + " with CUDA error 700");
            }
        }
    }

    /** The simulation records copies; libtorch's own class is checked by scripts/gpu-check. */
    @Test
    void replaysReadNewInputsAndWaitsEndTheCapture() throws Exception {
        String libraries = SimulatedCuda.folder().toString();
        Map<String, String> settings = Map.of("LD_LIBRARY_PATH", libraries + ":" + libraries + "/graph");
        assertThat(SimulatedCuda.start(folder, Records.class, settings).join()).endsWith("done\n");
        List<String> calls = SimulatedCuda.calls(folder).stream()
                .map(LoggedCall::text)
                .filter(call -> call.matches("(register|cudaStreamBegin|cudaStreamEnd|cudaGraph).*"))
                .map(call -> call.replaceAll("0x\\w+", "P"))
                .toList();
        assertThat(calls)
                .containsExactly(
                        "register_generator_state P",
                        "cudaStreamBeginCapture P mode 1",
                        "cudaStreamEndCapture P",
                        "cudaGraphInstantiateWithFlags 1 nodes flags 9",
                        "cudaGraphDestroy",
                        "cudaGraphLaunch 1 nodes on P",
                        "cudaGraphLaunch 1 nodes on P",
                        "cudaGraphLaunch 1 nodes on P",
                        "cudaGraphExecDestroy",
                        "cudaStreamBeginCapture P mode 1",
                        "cudaStreamEndCapture P",
                        "cudaGraphDestroy",
                        "cudaStreamBeginCapture P mode 1",
                        "cudaStreamEndCapture P",
                        "cudaGraphDestroy",
                        "cudaStreamBeginCapture P mode 1",
                        "cudaStreamEndCapture P",
                        "cudaGraphDestroy",
                        "cudaStreamBeginCapture P mode 1",
                        "cudaStreamEndCapture P",
                        "cudaStreamBeginCapture P mode 1",
                        "cudaStreamEndCapture P",
                        "cudaGraphInstantiateWithFlags 0 nodes flags 9",
                        "cudaGraphDestroy",
                        "cudaGraphExecDestroy");
    }
}
