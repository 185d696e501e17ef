package io.jrun.examples.gpt;

import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.tensor.ModuleTensors;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;

/** An optimizer of libtorch, or jrun's optimizer over flat memory. */
sealed interface GptOptimizer extends AutoCloseable {
    /** Drops or zeroes the gradients. */
    void clear();

    /** Updates the parameters. */
    void step(double learningRate);

    /** Copies of the state of the optimizer by name; the caller frees them. */
    Map<String, Tensor> state();

    /** Gives the optimizer the state after {@code step} steps. */
    void load(Map<String, Tensor> state, long step);

    @Override
    void close();

    /** The optimizer of a recipe. */
    static GptOptimizer of(GptRecipe recipe, DistributedDataParallel<? extends Module> parallel) {
        Module model = parallel.module();
        return switch (recipe.optimizer()) {
            case SGD -> new OfLibtorch(model, sgd(model));
            case ADAMW -> new OfLibtorch(model, new AdamW(model.parameters(), new AdamWOptions(1)));
            case FUSED -> new Flat(model, parallel.gradientMemory());
        };
    }

    private static SGD sgd(Module model) {
        SGDOptions options = new SGDOptions(1);
        options.momentum().put(0.9);
        return new SGD(model.parameters(), options);
    }

    /** An optimizer of libtorch: a kernel call for each operation and parameter. */
    record OfLibtorch(Module model, Optimizer optimizer) implements GptOptimizer {
        @Override
        public void clear() {
            optimizer.zero_grad();
        }

        @Override
        public void step(double learningRate) {
            optimizer.param_groups().get(0).options().set_lr(learningRate);
            optimizer.step();
        }

        @Override
        public Map<String, Tensor> state() {
            return OptimizerState.of(optimizer, ModuleTensors.parameters(model));
        }

        @Override
        public void load(Map<String, Tensor> state, long step) {
            OptimizerState.load(optimizer, ModuleTensors.parameters(model), state);
        }

        @Override
        public void close() {}
    }

    /** AdamW with one kernel call for all parameters. The weight decay equals the default of libtorch's AdamW. */
    final class Flat implements GptOptimizer {
        private static final double WEIGHT_DECAY = 1e-2;

        private final AtomicReference<Double> rate = new AtomicReference<>(0.0);
        private final FlatOptimizer optimizer;

        private Flat(Module model, List<MemorySegment> gradients) {
            optimizer = new FlatOptimizer(
                    ModuleTensors.parameters(model),
                    FusedAdamW.DEFAULT,
                    ParameterGroup.all(WEIGHT_DECAY),
                    _ -> rate.get(),
                    gradients);
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
}
