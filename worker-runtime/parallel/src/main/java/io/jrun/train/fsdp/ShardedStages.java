package io.jrun.train.fsdp;

import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.reducer.StageReplicas;
import io.jrun.train.tensor.TensorMemory;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.bytedeco.pytorch.Tensor;

/**
 * Pipeline stages whose parameters, gradients and optimizer states are spread over ranks that hold the same stages.
 * Each layer is a unit. Layers that share a parameter form the root: they are whole while a step is open. Gradients of
 * micro-batches add up on each rank. The last backward pass of a stage reduces the sums. Steps and evaluations of the
 * pipeline run inside {@link FullyShardedDataParallel#step}.
 */
public final class ShardedStages implements StageReplicas {
    private final FullyShardedDataParallel parallel;
    /** The rows that this rank keeps, by the identity of the tensor of the module. */
    private final Map<Long, Tensor> rows = new HashMap<>();

    /** Stages whose parameters {@code parallel} shards; it has no units yet. */
    public ShardedStages(FullyShardedDataParallel parallel) {
        this.parallel = parallel;
    }

    @Override
    public Map<Integer, List<PipelineLayer>> takeOver(
            Map<Integer, List<PipelineLayer>> stages, Predicate<Tensor> isTied) {
        StageReplicas.requireFits("ShardedStages", parallel.groups().all(), stages);
        Predicate<Tensor> isShared = StageReplicas.sharedParameters(stages, isTied);
        Predicate<PipelineLayer> sharesParameters =
                layer -> layer.parameters().values().stream().anyMatch(isShared);
        Map<String, Tensor> root = new LinkedHashMap<>();
        Map<Integer, List<PipelineLayer>> sharded = new LinkedHashMap<>();
        stages.forEach((stage, layers) -> {
            layers.stream().filter(sharesParameters).forEach(layer -> root.putAll(layer.parameters()));
            sharded.put(
                    stage,
                    layers.stream()
                            .map(layer -> sharesParameters.test(layer) ? layer : unit(layer))
                            .toList());
        });
        parallel.root(root);
        for (FsdpUnit unit : parallel.pass().units()) {
            for (int i = 0; i < unit.parameters().count(); i++) {
                rows.put(
                        TensorMemory.identity(unit.parameters().module(i)),
                        unit.parameters().shard(i));
            }
        }
        return sharded;
    }

    private PipelineLayer unit(PipelineLayer layer) {
        return new PipelineLayer(
                layer.name(), layer.parameters(), parallel.unit(layer.name(), layer.parameters(), layer.forward()));
    }

    @Override
    public void backward(Runnable pass, boolean isLast) {
        parallel.pass().backwardOfStage(pass, isLast);
    }

    @Override
    public void start(Collection<Tensor> complete) {
        Set<Long> identities = new HashSet<>();
        complete.forEach(tensor -> identities.add(TensorMemory.identity(tensor)));
        parallel.pass()
                .reduceComplete(unit -> identities.contains(
                        TensorMemory.identity(unit.parameters().module(0))));
    }

    @Override
    public void await() {
        parallel.pass().finishStages();
    }

    @Override
    public ShardedTensor kept(ShardedTensor parameter) {
        Tensor kept = rows.get(TensorMemory.identity(parameter.local()));
        return kept == null ? parameter : ShardedTensor.of(parameter.name(), kept);
    }

    /** The parameters stay with {@code parallel}. */
    @Override
    public void close() {}
}
