package io.jrun.train.expert;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.reducer.AllReduceHook;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Trains a model whose experts the ranks of an axis share. The data ranks are (ranks of the axis) x (replicas of each
 * expert). An expert's gradient on a rank has the tokens of all ranks of the axis. The gradients of experts are
 * therefore summed over the replicas and divided by the number of data ranks; the gradients of all other parameters are
 * the means over the data ranks. Both are gradients of the mean loss of the data ranks.
 *
 * <p>As {@link DistributedDataParallel}, of which the object has one for the experts and one for all other parameters.
 */
public final class ExpertDataParallel<M extends CompositeModule> implements AutoCloseable {
    private final DistributedDataParallel<M> shared;
    private final DistributedDataParallel<M> experts;

    /**
     * Wraps a module. Collective.
     *
     * @param module its experts are shared by {@code parallel}
     * @param replicas the ranks that have the same experts as this rank. The ranks of both axes train on different
     *     samples
     */
    public ExpertDataParallel(M module, ExpertParallel parallel, MeshAxis replicas) {
        ProcessGroup data = replicas.with(parallel.axis()).group();
        Set<String> ofExperts = parallel.expertNames();
        Set<String> others = new LinkedHashSet<>(ModuleTensors.all(module).keySet());
        others.removeAll(ofExperts);
        shared = new DistributedDataParallel<>(module, data, DdpOptions.DEFAULT.withIgnored(ofExperts));
        experts = new DistributedDataParallel<>(module, replicas.group(), DdpOptions.DEFAULT.withIgnored(others));
        int divisor = data.size();
        experts.registerHook((bucket, group) -> AllReduceHook.mean(bucket, divisor, group));
    }

    /** The wrapped module. */
    public M module() {
        return shared.module();
    }

    /** Opens a step. */
    public Step step() {
        Step ofShared = shared.step();
        Step ofExperts = experts.step();
        return new Step(ofShared::backward, () -> {
            try (ofShared) {
                ofExperts.close();
            }
        });
    }

    /** Opens a scope without reduction, for the sum of the gradients of several batches. */
    public NoSync noSync() {
        NoSync ofShared = shared.noSync();
        NoSync ofExperts = experts.noSync();
        return new NoSync(() -> {
            ofExperts.close();
            ofShared.close();
        });
    }

    /** DDP of the parameters that all ranks have. */
    public DistributedDataParallel<M> ofSharedParameters() {
        return shared;
    }

    /** DDP of this rank's experts. */
    public DistributedDataParallel<M> ofExperts() {
        return experts;
    }

    /** The memory of all gradients, see {@link DistributedDataParallel#gradientMemory}. */
    public List<MemorySegment> gradientMemory() {
        List<MemorySegment> memory = new ArrayList<>(shared.gradientMemory());
        memory.addAll(experts.gradientMemory());
        return memory;
    }

    @Override
    public void close() {
        shared.close();
        experts.close();
    }
}
