package io.jrun.bench.gpu;

import static io.jrun.bench.gpu.GpuCheck.require;

import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import io.jrun.train.device.GraphCaptureException;
import io.jrun.train.device.StepGraph;
import io.jrun.train.device.StepGraphs;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.tensor.DeviceGenerators;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.DeviceWaits;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Checks CUDA graphs on a GPU: passes with dropout by a graph and call by call, and work that a graph cannot hold. A
 * process of its own: an exception of libtorch that leaves a function of its graph ends the process.
 */
public final class GraphCheck {
    private static final Device GPU = Device.cuda(0);
    private static final int STEPS = 6;
    /** Steps before the recorded one. */
    private static final int WARMUP = 3;

    private GraphCheck() {}

    /** Runs the checks on one rank. The argument is {@code --json} or nothing. */
    public static void main(String[] args) {
        boolean hasFailed;
        try (World world = Distributed.init()) {
            CheckReport report = new CheckReport(world, Arrays.asList(args).contains("--json"));
            report.check("graph-passes", GraphCheck::passes);
            report.check("graph-host-wait", () -> refused(DeviceWaits::number));
            report.check("graph-libtorch-wait", () -> refused(Tensor::item_double));
            hasFailed = report.hasFailed();
        }
        if (hasFailed) {
            System.exit(1);
        }
    }

    /** Passes of a layer with dropout, whose gradient adds up. A hook runs on libtorch's thread for the device. */
    private static final class Passes implements AutoCloseable {
        private final DropoutLayer dropout = new DropoutLayer(0.5, 7, GPU);
        private final Tensor weight = DeviceTensors.ones(GPU, 64, 64).set_requires_grad(true);
        private final Tensor input = DeviceTensors.ones(GPU, 8, 64);
        /** As that of a dropout layer for the CPU: the graph leaves it out. */
        private final Generator ofHost = DeviceGenerators.create(Device.CPU, 7);

        private final StepGraph graph = StepGraphs.of(GPU);
        private final LeafHooks hooks;
        private int hookCalls;

        Passes() {
            try (StepGraph.OpenStream _ = graph.onStream()) {
                hooks = AutogradBridge.instance().watch(List.of(weight), _ -> hookCalls++);
            }
        }

        private void pass() {
            try (PointerScope _ = new PointerScope()) {
                Tensor loss = dropout.forward(torch.matmul(input, weight)).sum();
                AutogradBridge.instance().backward(List.of(loss), List.of());
            }
        }

        /** The gradients after all steps. */
        double[] run(boolean usesGraph) {
            for (int step = 0; step < STEPS; step++) {
                try (StepGraph.OpenStream _ = graph.onStream();
                        NoGradGuard _ = new NoGradGuard()) {
                    input.fill_(new Scalar(step + 1.0));
                }
                try (StepGraph.OpenStream _ = graph.onStream()) {
                    if (!usesGraph || step < WARMUP) {
                        pass();
                    } else {
                        if (step == WARMUP) {
                            graph.record(List.of(dropout.generator(), ofHost), this::pass);
                        }
                        graph.replay();
                    }
                }
            }
            int expected = usesGraph ? WARMUP + 1 : STEPS;
            require(hookCalls == expected, "the hook was called " + hookCalls + " times, expected " + expected);
            return DeviceWaits.numbers(List.of(weight.mutable_grad()));
        }

        @Override
        public void close() {
            hooks.close();
            graph.close();
            ofHost.close();
        }
    }

    private static String passes() throws CheckSkippedException {
        GpuCheck.requireCudaBuild();
        double[] byCalls;
        double[] byGraph;
        try (Passes calls = new Passes();
                Passes graph = new Passes()) {
            byCalls = calls.run(false);
            byGraph = graph.run(true);
        }
        int different = Arrays.mismatch(byCalls, byGraph);
        require(different < 0, "element " + different + " of the gradients differs from that of passes call by call");
        require(Arrays.stream(byCalls).distinct().count() > 10, "dropout has set nothing to zero");
        return (STEPS - WARMUP) + " replays with new inputs and new masks: the bits of passes call by call";
    }

    /** A wait inside the recorded work is one line with its place. The process may then use the device no further. */
    private static String refused(Consumer<Tensor> wait) throws CheckSkippedException {
        GpuCheck.requireCudaBuild();
        Tensor number = DeviceTensors.ones(GPU, 1);
        StepGraph graph = StepGraphs.of(GPU);
        try (StepGraph.OpenStream _ = graph.onStream()) {
            graph.record(List.of(), () -> wait.accept(number.add(new Scalar(1.0))));
        } catch (GraphCaptureException e) {
            String message = String.valueOf(e.getMessage());
            require(message.contains("GraphCheck"), "the message does not name the place: " + message);
            return message;
        }
        throw new IllegalStateException("a wait inside the recorded work was not refused");
    }
}
