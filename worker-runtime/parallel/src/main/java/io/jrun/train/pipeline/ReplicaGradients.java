package io.jrun.train.pipeline;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The mean of gradients over the replicas of a pipeline: the ranks that hold the same stages. The reduction of a stage
 * runs while other stages still compute.
 */
final class ReplicaGradients implements StageReplicas {
    private final @Nullable ProcessGroup replicas;
    private final List<Work> works = new ArrayList<>();

    /** The replicas of a group; null if there is one. */
    ReplicaGradients(@Nullable ProcessGroup replicas) {
        this.replicas = replicas == null || replicas.size() == 1 ? null : replicas;
    }

    @Override
    public Map<Integer, List<PipelineLayer>> takeOver(
            Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
        if (replicas != null) {
            StageReplicas.broadcast("PipelineOptions.withReplicas", replicas, stages);
        }
        return stages;
    }

    @Override
    public void backward(Runnable pass, boolean isLast) {
        pass.run();
    }

    @Override
    public void start(Collection<Tensor> parameters) {
        if (replicas == null) {
            return;
        }
        Map<DataType, List<Buffer>> buffers = new EnumMap<>(DataType.class);
        for (Tensor parameter : parameters) {
            Tensor gradient = parameter.mutable_grad();
            if (gradient.defined()) {
                DataType type = TensorTypes.of(gradient).orElseThrow();
                buffers.computeIfAbsent(type, _ -> new ArrayList<>())
                        .add(new Buffer(TensorMemory.segment(gradient), type, gradient.numel(), Device.CPU));
            }
        }
        buffers.values().forEach(list -> works.add(replicas.coalesced().allReduceAsync(list, ReduceOp.AVG)));
    }

    @Override
    public void await() {
        works.forEach(Work::await);
        works.clear();
    }

    @Override
    public ShardedTensor kept(ShardedTensor parameter) {
        return parameter;
    }
}
