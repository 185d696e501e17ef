package io.jrun.examples.gpt;

import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.tensor.DeviceWaits;
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
    /** The C++ library of the presets has the elements of a tuple in reverse order in memory. */
    long FIRST_BETA = 1;

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

    /**
     * Updates the parameters, unless the device finds {@code skip} to be 1. An optimizer without a kernel that reads
     * {@code skip} waits for the device.
     *
     * @param skip a float32 tensor of one element on the device of the parameters
     */
    default void step(Tensor skip) {
        if (DeviceWaits.number(skip) == 0) {
            step();
        }
    }

    /**
     * Adds this rank's parts of the parameters, or of their averages, to a checkpoint.
     *
     * @param parameters those that this rank holds
     */
    default void putParameters(StateDict into, String prefix, ShardedState parameters) {
        parameters.putParameters(into, prefix);
    }

    /**
     * Whether a failure has interrupted the last step after the update of this rank's parts: this rank may lack the
     * updated parts of other ranks. A checkpoint of the step needs no more than the parts.
     */
    default boolean hasPartsOnly() {
        return false;
    }

    /**
     * Adds this rank's parts of the states to a checkpoint.
     *
     * @param parameters this rank's parts of the parameters
     * @return copies that the checkpoint refers to; the caller frees them
     */
    Collection<Tensor> put(StateDict into, String prefix, ShardedState parameters);

    /** Reads this rank's parts of the states from a checkpoint. */
    void load(SavedCheckpoint saved, String prefix, ShardedState parameters);

    /** The steps of earlier jobs whose states the optimizer has found. */
    default long stepsDone() {
        return 0;
    }

    @Override
    void close();

    /**
     * The optimizer that the options ask for.
     *
     * @param parameters those of the model
     * @param gradients memory of the gradients, each padded to whole cache lines
     */
    static GptOptimizer of(UpdateOptions update, Map<String, ShardedTensor> parameters, List<MemorySegment> gradients) {
        return switch (update.optimizer()) {
            case SGD -> ofLibtorch(update, Parameters.here(parameters), false);
            case ADAMW -> ofLibtorch(update, Parameters.here(parameters), true);
            case FUSED, FUSED_SGD -> new Flat(update, parameters, gradients);
        };
    }

    private static GptOptimizer ofLibtorch(UpdateOptions update, Map<String, Tensor> here, boolean isAdamW) {
        return new OfLibtorch(here, isAdamW ? adamW(update, here) : sgd(update, here), isAdamW);
    }

    private static SGD sgd(UpdateOptions update, Map<String, Tensor> parameters) {
        SGDOptions options = new SGDOptions(1);
        options.momentum().put(update.numbers().momentum());
        options.weight_decay().put(update.numbers().weightDecay());
        return new SGD(vector(parameters), options);
    }

    private static AdamW adamW(UpdateOptions update, Map<String, Tensor> parameters) {
        OptimizerNumbers numbers = update.numbers();
        AdamWOptions options = new AdamWOptions(1);
        options.betas().put(FIRST_BETA, numbers.beta1()).put(1 - FIRST_BETA, numbers.beta2());
        options.eps().put(numbers.epsilon());
        options.weight_decay().put(numbers.weightDecay());
        return new AdamW(vector(parameters), options);
    }

    private static Collection<Tensor> put(
            StateDict into, String prefix, ShardedState parameters, Map<String, Tensor> copies) {
        parameters.putOptimizer(into, prefix, copies);
        return copies.values();
    }

    private static TensorVector vector(Map<String, Tensor> parameters) {
        return new TensorVector(parameters.values().toArray(Tensor[]::new));
    }

    /** An optimizer of libtorch: a kernel call for each operation and parameter. */
    record OfLibtorch(Map<String, Tensor> parameters, Optimizer optimizer, boolean isAdamW) implements GptOptimizer {
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
        public Collection<Tensor> put(StateDict into, String prefix, ShardedState parts) {
            return GptOptimizer.put(into, prefix, parts, OptimizerState.of(optimizer, parameters));
        }

        @Override
        public void load(SavedCheckpoint saved, String prefix, ShardedState parts) {
            Map<String, Tensor> state = parts.readOptimizer(saved, prefix);
            OptimizerState.load(optimizer, parameters, state);
            state.values().forEach(Tensor::close);
        }

        @Override
        public void close() {}
    }

    /** AdamW or SGD with one kernel call for all parameters of a group. */
    final class Flat implements GptOptimizer {
        private final ScheduleOfStep schedule = new ScheduleOfStep();
        private final FlatOptimizer optimizer;
        private final boolean isInHook;

        private Flat(UpdateOptions update, Map<String, ShardedTensor> parameters, List<MemorySegment> gradients) {
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
        public void step(Tensor skip) {
            optimizer.step(skip);
        }

        @Override
        public Collection<Tensor> put(StateDict into, String prefix, ShardedState parts) {
            return GptOptimizer.put(into, prefix, parts, optimizer.state());
        }

        @Override
        public void load(SavedCheckpoint saved, String prefix, ShardedState parts) {
            Map<String, Tensor> state = parts.readOptimizer(saved, prefix);
            optimizer.load(state, saved.step());
            state.values().forEach(Tensor::close);
        }

        @Override
        public void close() {
            optimizer.close();
        }
    }
}
