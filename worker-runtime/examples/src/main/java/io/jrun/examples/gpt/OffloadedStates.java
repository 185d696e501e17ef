package io.jrun.examples.gpt;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.offload.OffloadedOptimizer;
import io.jrun.train.optim.FusedAdamW;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.pytorch.Tensor;

/** AdamW whose parameters, gradients and states lie in files. The files are the checkpoint of the last whole step. */
record OffloadedStates(OffloadedOptimizer optimizer, AtomicReference<Double> rate) implements GptOptimizer {
    /** The states of this rank below {@code folder}. Collective. */
    static OffloadedStates open(Path folder, ProcessGroup group) {
        AtomicReference<Double> rate = new AtomicReference<>(0.0);
        return new OffloadedStates(
                new OffloadedOptimizer(
                        folder.resolve("rank-" + group.groupRank()),
                        group,
                        FusedAdamW.DEFAULT,
                        TrainedModel.DECAY,
                        _ -> rate.get()),
                rate);
    }

    @Override
    public void clear() {
        optimizer.zeroGradients();
    }

    @Override
    public void step(double learningRate) {
        rate.set(learningRate);
        optimizer.step();
    }

    @Override
    public Map<String, Tensor> state() {
        throw new IllegalStateException("the states are in files, not in a checkpoint");
    }

    @Override
    public void load(Map<String, Tensor> state, long step) {
        throw new IllegalStateException("the states are in files, not in a checkpoint");
    }

    @Override
    public long stepsDone() {
        return optimizer.steps();
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
