package io.jrun.examples.gpt;

import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.LearningRateSchedule;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerOptions;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** An optimizer of libtorch, or jrun's optimizer over flat memory. */
sealed interface GptOptimizer extends AutoCloseable
        permits GptOptimizer.OfLibtorch, GptOptimizer.Flat, ZeroStates, OffloadedStates {
    /** Drops or zeroes the gradients. */
    void clear();

    /**
     * Sets the learning rate and the momentum of a step.
     *
     * @param step number of steps before this one, skipped steps included
     */
    void setRate(LearningRateSchedule schedule, long step);

    /** Updates the parameters. */
    void step();

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
     * The optimizer that the options ask for.
     *
     * @param parameters this rank's parameters, or its parts of the parameters
     * @param gradients memory of the gradients, each padded to whole cache lines
     */
    static GptOptimizer of(UpdateOptions update, Map<String, Tensor> parameters, List<MemorySegment> gradients) {
        return switch (update.optimizer()) {
            case SGD -> new OfLibtorch(parameters, sgd(update, parameters), false);
            case ADAMW -> new OfLibtorch(parameters, adamW(update, parameters), true);
            case FUSED, FUSED_SGD -> new Flat(update, parameters, gradients);
        };
    }

    private static SGD sgd(UpdateOptions update, Map<String, Tensor> parameters) {
        SGDOptions options = new SGDOptions(1);
        options.momentum().put(UpdateOptions.MOMENTUM);
        options.weight_decay().put(update.weightDecay());
        return new SGD(vector(parameters), options);
    }

    private static AdamW adamW(UpdateOptions update, Map<String, Tensor> parameters) {
        AdamWOptions options = new AdamWOptions(1);
        options.weight_decay().put(update.weightDecay());
        return new AdamW(vector(parameters), options);
    }

    private static TensorVector vector(Map<String, Tensor> parameters) {
        return new TensorVector(parameters.values().toArray(Tensor[]::new));
    }

    /** An optimizer of libtorch: a kernel call for each operation and parameter. */
    record OfLibtorch(Map<String, Tensor> parameters, Optimizer optimizer, boolean isAdamW) implements GptOptimizer {
        /** The C++ library of the presets has the elements of a tuple in reverse order in memory. */
        private static final long FIRST_BETA = 1;

        @Override
        public void clear() {
            optimizer.zero_grad();
        }

        @Override
        public void setRate(LearningRateSchedule schedule, long step) {
            OptimizerOptions options = optimizer.param_groups().get(0).options();
            options.set_lr(schedule.at(step));
            schedule.momentumAt(step).ifPresent(momentum -> setMomentum(options, momentum));
        }

        private void setMomentum(OptimizerOptions options, double momentum) {
            if (isAdamW) {
                new AdamWOptions(options).betas().put(FIRST_BETA, momentum);
            } else {
                new SGDOptions(options).momentum().put(momentum);
            }
        }

        @Override
        public void step() {
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

    /** AdamW or SGD with one kernel call for all parameters of a group. */
    final class Flat implements GptOptimizer {
        private final ScheduleOfStep schedule = new ScheduleOfStep();
        private final FlatOptimizer optimizer;
        private final boolean isInHook;

        private Flat(UpdateOptions update, Map<String, Tensor> parameters, List<MemorySegment> gradients) {
            optimizer = new FlatOptimizer(parameters, update.rule(), update.groups(), schedule, gradients);
            isInHook = update.isInHook();
        }

        @Override
        public void clear() {
            optimizer.zeroGradients();
        }

        @Override
        public void setRate(LearningRateSchedule given, long step) {
            schedule.set(given, step);
        }

        /** Updates the parameters of a bucket, with {@code --update-in-hook}. */
        void update(Collection<String> names) {
            optimizer.update(names);
        }

        @Override
        public void step() {
            if (isInHook) {
                optimizer.endStep();
            } else {
                optimizer.step();
            }
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
