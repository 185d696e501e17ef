package io.jrun.train.ddp.hook;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorCollectives;
import java.util.Map;

/**
 * Replaces the parameters of all ranks by their mean every few steps. torch's {@code PeriodicModelAverager}. Confined
 * to the training thread.
 */
public final class PeriodicModelAverager {
    private final TensorCollectives collectives;
    private final ProcessGroup group;
    private final long period;
    private final long warmupSteps;
    private long steps;

    /**
     * An averager before its first step.
     *
     * @param group all ranks whose models are averaged
     * @param period steps from one averaging to the next
     * @param warmupSteps steps before the first averaging, 0 or more
     */
    public PeriodicModelAverager(ProcessGroup group, long period, long warmupSteps) {
        if (period < 1 || warmupSteps < 0) {
            throw new IllegalArgumentException(
                    "period must be at least 1 and warmupSteps 0 or more, were " + period + " and " + warmupSteps);
        }
        this.group = group;
        this.collectives = new TensorCollectives(group);
        this.period = period;
        this.warmupSteps = warmupSteps;
    }

    /**
     * Counts a step, and averages the parameters if the step ends a period. All ranks call the method after each
     * optimizer step. Collective in the steps that average.
     */
    public void stepDone(Map<String, ShardedTensor> parameters) {
        if (steps >= warmupSteps && (steps - warmupSteps) % period == 0) {
            new GradientGroup("PeriodicModelAverager", group).requireFitsHere(parameters);
            Parameters.here(parameters).values().forEach(local -> collectives.allReduce(local, ReduceOp.AVG));
        }
        steps++;
    }
}
