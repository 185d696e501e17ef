package io.jrun.trainer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.ddp.hook.PeriodicModelAverager;
import io.jrun.train.ddp.hook.PostLocalSgdHook;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.Map;

/**
 * Post-local SGD: after the first passes neighbouring ranks exchange gradients, and all ranks average their parameters
 * every few steps.
 */
final class LocalSgd {
    private static final long FIRST_PASSES = 10;
    private static final long PERIOD = 4;

    private final ProcessGroup group;
    private final ProcessGroup neighbours;
    private final PeriodicModelAverager averager;

    /**
     * Splits the group. Collective.
     *
     * @param ranks neighbouring ranks that exchange gradients
     */
    LocalSgd(ProcessGroup group, int ranks) {
        if (group.size() % ranks != 0) {
            throw new InvalidArgumentException(
                    "--local-sgd=" + ranks + " does not divide the " + group.size() + " copies of the model");
        }
        this.group = group;
        neighbours = group.split(group.groupRank() / ranks, group.groupRank());
        averager = new PeriodicModelAverager(group, PERIOD, FIRST_PASSES);
    }

    PostLocalSgdHook hook() {
        return new PostLocalSgdHook(neighbours, FIRST_PASSES);
    }

    /** Averages the parameters if a period has ended. Collective. */
    void stepDone(Map<String, ShardedTensor> parameters) {
        averager.stepDone(parameters);
    }

    /** Averages the parameters. Collective. */
    void average(Map<String, ShardedTensor> parameters) {
        new PeriodicModelAverager(group, 1, 0).stepDone(parameters);
    }
}
