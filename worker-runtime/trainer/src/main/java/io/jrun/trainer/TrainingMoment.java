package io.jrun.trainer;

import io.jrun.comm.World;
import io.jrun.train.model.TrainableModel;
import java.util.Optional;
import java.util.function.DoubleSupplier;

/** The view that a {@link TrainingCallback} has of the training. Confined to the training thread. */
public final class TrainingMoment {
    private final World world;
    private final TrainableModel model;
    private final long steps;
    private final DoubleSupplier lastLoss;
    private long step;
    private Optional<String> stopReason = Optional.empty();

    TrainingMoment(World world, TrainableModel model, long steps, DoubleSupplier lastLoss) {
        this.world = world;
        this.model = model;
        this.steps = steps;
        this.lastLoss = lastLoss;
    }

    TrainingMoment at(long newStep) {
        step = newStep;
        return this;
    }

    /** The world of this rank. */
    public World world() {
        return world;
    }

    /** The number of steps that are done. */
    public long step() {
        return step;
    }

    /** The number of steps of the plan. */
    public long steps() {
        return steps;
    }

    /** The model of this rank, which may hold parts of the parameters only. */
    public TrainableModel model() {
        return model;
    }

    /** The loss of this rank in the last step. Waits for a device. */
    public double loss() {
        return lastLoss.getAsDouble();
    }

    /**
     * Ends the training after this step, on all ranks. One rank may ask alone.
     *
     * @param reason for the output
     */
    public void stop(String reason) {
        stopReason = Optional.of(reason);
    }

    /** The reason of this rank. */
    Optional<String> stopReason() {
        return stopReason;
    }
}
