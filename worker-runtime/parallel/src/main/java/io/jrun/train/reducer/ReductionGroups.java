package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorCollectives;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/**
 * The ranks that add the gradients of each parameter: all ranks that train on different samples, without the axes that
 * route samples to the parts of the parameter, see {@link ShardedTensor#routed}. The sums of all parameters are divided
 * by the number of all ranks. Confined to the training thread.
 */
public final class ReductionGroups implements AutoCloseable {
    private final ProcessGroup all;
    private final Map<List<ProcessGroup>, ProcessGroup> made = new LinkedHashMap<>();

    /** @param all the ranks that train on different samples */
    public ReductionGroups(ProcessGroup all) {
        this.all = all;
    }

    /** The ranks that train on different samples. */
    public ProcessGroup all() {
        return all;
    }

    /** The ranks that hold the same part of a parameter. Collective for the first parameter of an axis. */
    public ProcessGroup of(Tensor parameter) {
        List<MeshAxis> routed = ShardedTensor.of("", parameter).routed();
        if (routed.isEmpty()) {
            return all;
        }
        return made.computeIfAbsent(routed.stream().map(MeshAxis::group).toList(), _ -> {
            int part = 0;
            for (MeshAxis axis : routed) {
                part = part * axis.size() + axis.coordinate();
            }
            return all.split(part, all.groupRank());
        });
    }

    /** Tensors by their groups, in the order of the tensors. Collective as {@link #of}. */
    public Map<ProcessGroup, List<Tensor>> byGroup(Collection<Tensor> tensors) {
        Map<ProcessGroup, List<Tensor>> byGroup = new LinkedHashMap<>();
        tensors.forEach(tensor ->
                byGroup.computeIfAbsent(of(tensor), _ -> new ArrayList<>()).add(tensor));
        return byGroup;
    }

    /** Gives all ranks with the same part of a tensor the elements of the first of them. Collective. */
    public void broadcast(Collection<Tensor> tensors) {
        byGroup(tensors).forEach((group, same) -> new TensorCollectives(group).broadcastAll(same, 0));
    }

    /** Fails the operations of the other ranks, which would wait for this rank. */
    public void abort(String cause) {
        all.abort(cause);
        made.values().forEach(group -> group.abort(cause));
    }

    /** Closes the groups that this object has made. */
    @Override
    public void close() {
        made.values().forEach(ProcessGroup::close);
        made.clear();
    }
}
