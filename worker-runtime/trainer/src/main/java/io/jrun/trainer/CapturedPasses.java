package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.train.data.Batch;
import io.jrun.train.device.GraphCaptureException;
import io.jrun.train.device.StepGraph;
import io.jrun.train.device.StepGraphs;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.metrics.StepPhase;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * The passes of a step as a CUDA graph: {@code --cuda-graph}. The first steps run call by call, the next one is recorded,
 * and all others copy their batches into the memory of the recorded ones and replay. Confined to the training thread.
 */
final class CapturedPasses implements AutoCloseable {
    /**
     * The steps before the recorded one. In the first step the gradients and the parameters move to their places, and
     * libtorch allocates workspaces. Source: torch's notes on CUDA graphs.
     */
    private static final int WARMUP_STEPS = 3;

    private final StepGraph graph;
    private final int microBatches;
    /** The batches that the graph reads; empty before the recorded step. */
    private final List<StepBatch> held = new ArrayList<>();

    private int warmupSteps;

    /**
     * Makes the graph, which is empty.
     *
     * @param microBatches of a step
     * @throws InvalidArgumentException if a library lacks the functions of graphs
     */
    CapturedPasses(Device device, int microBatches) {
        try {
            graph = StepGraphs.of(device);
        } catch (GraphCaptureException e) {
            throw new InvalidArgumentException(
                    "--cuda-graph cannot make a graph: " + e.getMessage() + ". Give no --cuda-graph.");
        }
        this.microBatches = microBatches;
    }

    /** The graph, on whose stream the model is trained. */
    StepGraph graph() {
        return graph;
    }

    /**
     * Runs the passes of a step.
     *
     * @param batches gives the batches of the step
     * @param passes runs all passes with the batches that it gets
     */
    void run(
            TrainableModel model,
            StepMetrics metrics,
            Supplier<StepBatch> batches,
            Consumer<Supplier<StepBatch>> passes) {
        if (warmupSteps < WARMUP_STEPS) {
            warmupSteps++;
            passes.accept(batches);
            return;
        }
        List<StepBatch> given = new ArrayList<>();
        for (int i = 0; i < microBatches; i++) {
            given.add(batches.get());
        }
        if (held.isEmpty()) {
            record(model, given, passes);
        } else {
            copy(given);
        }
        try (var _ = metrics.phase(StepPhase.BACKWARD)) {
            graph.replay();
        }
    }

    private void record(TrainableModel model, List<StepBatch> given, Consumer<Supplier<StepBatch>> passes) {
        try (PointerScope _ = new PointerScope()) {
            for (StepBatch next : given) {
                Batch batch = next.batch();
                held.add(new StepBatch(new Batch(clone(batch.inputs()), clone(batch.targets())), next.weight()));
            }
        }
        try {
            graph.record(
                    model.descendants(DropoutLayer.class).values().stream()
                            .map(DropoutLayer::generator)
                            .toList(),
                    () -> passes.accept(held.iterator()::next));
        } catch (GraphCaptureException e) {
            throw new InvalidArgumentException("--cuda-graph cannot record the passes of this model: " + e.getMessage()
                    + ". Give no --cuda-graph.");
        }
    }

    private static Tensor clone(Tensor tensor) {
        return TensorMemory.own(tensor.clone());
    }

    private void copy(List<StepBatch> given) {
        try (NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < microBatches; i++) {
                StepBatch from = given.get(i);
                StepBatch to = held.get(i);
                if (!describe(from).equals(describe(to))) {
                    throw new InvalidArgumentException(
                            "--cuda-graph needs equal batches in all steps: the recorded step has " + describe(to)
                                    + ", a later step has " + describe(from) + ". Give no --cuda-graph.");
                }
                TensorMemory.copy(from.batch().inputs(), to.batch().inputs());
                TensorMemory.copy(from.batch().targets(), to.batch().targets());
            }
        }
    }

    private static String describe(StepBatch batch) {
        return "inputs " + TensorMemory.form(batch.batch().inputs()) + ", targets "
                + TensorMemory.form(batch.batch().targets()) + ", weight " + batch.weight();
    }

    @Override
    public void close() {
        graph.close();
        held.forEach(batch -> {
            batch.batch().inputs().close();
            batch.batch().targets().close();
        });
    }
}
