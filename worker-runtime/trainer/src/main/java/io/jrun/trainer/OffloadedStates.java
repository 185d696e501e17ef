package io.jrun.trainer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.offload.OffloadedOptimizer;
import java.nio.file.Path;
import java.util.Collection;
import org.bytedeco.pytorch.Tensor;

/**
 * AdamW whose parameters, gradients and states lie in files. The files are the checkpoint of the last whole step.
 *
 * @param isInPass whether the last backward pass of a step updates each layer
 */
record OffloadedStates(OffloadedOptimizer optimizer, ScheduleOfStep schedule, boolean isInPass)
        implements TrainingOptimizer {
    /** The states of this rank below {@code folder}. Collective. */
    static OffloadedStates open(UpdateOptions update, Path folder, ProcessGroup group) {
        ScheduleOfStep schedule = new ScheduleOfStep();
        return new OffloadedStates(
                new OffloadedOptimizer(
                        folder.resolve("rank-" + group.groupRank()), group, update.rule(), update.groups(), schedule),
                schedule,
                update.isInHook());
    }

    @Override
    public void lastPassBegins() {
        if (isInPass) {
            optimizer.updateInNextPass();
        }
    }

    @Override
    public Collection<Tensor> put(StateDict into, String prefix, ShardedState parameters) {
        throw new IllegalStateException("the states are in files, not in a checkpoint");
    }

    @Override
    public void load(SavedCheckpoint saved, String prefix, ShardedState parameters) {
        throw new IllegalStateException("the states are in files, not in a checkpoint");
    }

    @Override
    public long stepsDone() {
        return optimizer.steps();
    }
}
