package io.jrun.examples.gpt;

import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** An optimizer of libtorch, or jrun's optimizer over flat memory. */
sealed interface GptOptimizer extends AutoCloseable
        permits GptOptimizer.OfLibtorch, GptOptimizer.Flat, ZeroStates, OffloadedStates {
    /** Drops or zeroes the gradients. */
    void clear();

    /** Updates the parameters. */
    void step(double learningRate);

    /** Copies of the state of the optimizer by name; the caller frees them. */
    Map<String, Tensor> state();

    /** Gives the optimizer the state after {@code step} steps. */
    void load(Map<String, Tensor> state, long step);

    /** The steps of earlier jobs whose states the optimizer has found. */
    default long stepsDone() {
        return 0;
    }

    @Override
    void close();

    /**
     * The optimizer of a kind.
     *
     * @param parameters this rank's parameters, or its parts of the parameters
     * @param gradients memory of the gradients, each padded to whole cache lines
     */
    static GptOptimizer of(
            GptRecipe.OptimizerKind kind, Map<String, Tensor> parameters, List<MemorySegment> gradients) {
        return switch (kind) {
            case SGD -> new OfLibtorch(parameters, sgd(parameters));
            case ADAMW -> new OfLibtorch(parameters, new AdamW(vector(parameters), new AdamWOptions(1)));
            case FUSED -> new Flat(parameters, gradients);
        };
    }

    private static SGD sgd(Map<String, Tensor> parameters) {
        SGDOptions options = new SGDOptions(1);
        options.momentum().put(0.9);
        return new SGD(vector(parameters), options);
    }

    private static TensorVector vector(Map<String, Tensor> parameters) {
        return new TensorVector(parameters.values().toArray(Tensor[]::new));
    }

    /** An optimizer of libtorch: a kernel call for each operation and parameter. */
    record OfLibtorch(Map<String, Tensor> parameters, Optimizer optimizer) implements GptOptimizer {
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
            return OptimizerState.of(optimizer, parameters);
        }

        @Override
        public void load(Map<String, Tensor> state, long step) {
            OptimizerState.load(optimizer, parameters, state);
        }

        @Override
        public void close() {}
    }

    /** AdamW with one kernel call for all parameters. The weight decay equals the default of libtorch's AdamW. */
    final class Flat implements GptOptimizer {
        private final AtomicReference<Double> rate = new AtomicReference<>(0.0);
        private final FlatOptimizer optimizer;

        private Flat(Map<String, Tensor> parameters, List<MemorySegment> gradients) {
            optimizer =
                    new FlatOptimizer(parameters, FusedAdamW.DEFAULT, TrainedModel.DECAY, _ -> rate.get(), gradients);
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
