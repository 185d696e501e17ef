package io.jrun.examples.gpt;

import io.jrun.comm.ProcessGroup;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.zero.ZeroDataParallel;
import io.jrun.train.zero.ZeroOptimizer;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.pytorch.Tensor;

/** AdamW in one kernel call, whose states are spread over the ranks. */
record ZeroStates(ZeroOptimizer optimizer, AtomicReference<Double> rate, Runnable clearing) implements GptOptimizer {
    /** The states beside gradients that each rank holds whole. */
    static ZeroStates stageOne(DistributedDataParallel<LanguageModel> model, ProcessGroup group) {
        AtomicReference<Double> rate = new AtomicReference<>(0.0);
        return new ZeroStates(
                ZeroOptimizer.stageOne(model, group, FusedAdamW.DEFAULT, TrainedModel.DECAY, _ -> rate.get()),
                rate,
                () -> model.module().zero_grad(true));
    }

    /** The states beside gradients that are spread too. */
    static ZeroStates stageTwo(ZeroDataParallel<LanguageModel> model) {
        AtomicReference<Double> rate = new AtomicReference<>(0.0);
        return new ZeroStates(
                ZeroOptimizer.stageTwo(model, FusedAdamW.DEFAULT, TrainedModel.DECAY, _ -> rate.get()),
                rate,
                model::zeroGradients);
    }

    /** Bounds the gradients of all ranks. */
    double clip(double maximum) {
        return optimizer.clipByGlobalNorm(maximum);
    }

    @Override
    public void clear() {
        clearing.run();
    }

    @Override
    public void step(double learningRate) {
        rate.set(learningRate);
        optimizer.step();
    }

    @Override
    public Map<String, Tensor> state() {
        return optimizer.state();
    }

    @Override
    public void load(Map<String, Tensor> state, long step) {
        optimizer.load(state, step);
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
