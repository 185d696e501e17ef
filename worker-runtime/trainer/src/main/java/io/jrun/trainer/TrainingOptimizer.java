package io.jrun.trainer;

import io.jrun.train.checkpoint.OptimizerState;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.LibtorchOptimizer;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterOptimizer;
import java.util.Collection;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** The optimizer of the options, with its states in checkpoints. */
sealed interface TrainingOptimizer extends AutoCloseable
        permits TrainingOptimizer.OfLibtorch, TrainingOptimizer.Flat, ZeroStates, OffloadedStates {
    /** The optimizer, whose schedule is {@link #schedule}. */
    ParameterOptimizer optimizer();

    /** The learning rate and the momentum of the present step. */
    ScheduleOfStep schedule();

    /** Drops or zeroes the gradients. */
    default void clear() {
        optimizer().zeroGradients();
    }

    /**
     * Sets the learning rate and the momentum of a step.
     *
     * @param step number of steps before this one, skipped steps included
     */
    default void setRate(LearningRateSchedule given, long step) {
        schedule().set(given, step);
    }

    /** The last forward and backward pass of a step begins. */
    default void lastPassBegins() {}

    /** Updates the parameters. */
    default void step() {
        optimizer().step();
    }

    /** Updates the parameters, see {@link ParameterOptimizer#step(Tensor)}. */
    default void step(Tensor skip) {
        optimizer().step(skip);
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
    default void close() {
        optimizer().close();
    }

    /**
     * The optimizer that the options ask for.
     *
     * @param parameters those of the model
     * @param gradients memory in which the gradients lie
     */
    static TrainingOptimizer of(
            UpdateOptions update, Map<String, ShardedTensor> parameters, PaddedGradients gradients) {
        ScheduleOfStep schedule = new ScheduleOfStep();
        return update.optimizer().isFlat()
                ? new Flat(
                        new FlatOptimizer(parameters, update.rule(), update.groups(), schedule, gradients),
                        schedule,
                        update.isInHook())
                : new OfLibtorch(
                        new LibtorchOptimizer(
                                parameters, update.rule(), update.numbers().weightDecay(), schedule),
                        schedule);
    }

    private static Collection<Tensor> put(
            StateDict into, String prefix, ShardedState parameters, Map<String, Tensor> copies) {
        parameters.putOptimizer(into, prefix, copies);
        return copies.values();
    }

    /** An optimizer of libtorch. */
    record OfLibtorch(LibtorchOptimizer optimizer, ScheduleOfStep schedule) implements TrainingOptimizer {
        @Override
        public Collection<Tensor> put(StateDict into, String prefix, ShardedState parts) {
            return TrainingOptimizer.put(
                    into, prefix, parts, OptimizerState.of(optimizer.libtorch(), optimizer.parameters()));
        }

        @Override
        public void load(SavedCheckpoint saved, String prefix, ShardedState parts) {
            Map<String, Tensor> state = parts.readOptimizer(saved, prefix);
            OptimizerState.load(optimizer.libtorch(), optimizer.parameters(), state);
            optimizer.setSteps(saved.step());
            state.values().forEach(Tensor::close);
        }
    }

    /**
     * AdamW or SGD with one kernel call for all parameters of a group.
     *
     * @param isInHook whether {@link FlatOptimizer#update} is called for each bucket
     */
    record Flat(FlatOptimizer optimizer, ScheduleOfStep schedule, boolean isInHook) implements TrainingOptimizer {
        @Override
        public void step() {
            if (isInHook) {
                optimizer.endStep();
            } else {
                optimizer.step();
            }
        }

        @Override
        public Collection<Tensor> put(StateDict into, String prefix, ShardedState parts) {
            return TrainingOptimizer.put(into, prefix, parts, optimizer.state());
        }

        @Override
        public void load(SavedCheckpoint saved, String prefix, ShardedState parts) {
            Map<String, Tensor> state = parts.readOptimizer(saved, prefix);
            optimizer.load(state, saved.step());
            state.values().forEach(Tensor::close);
        }
    }
}
