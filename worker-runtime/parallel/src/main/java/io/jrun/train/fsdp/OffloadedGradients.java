package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.GradientStore;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.tensor.TensorMemory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;

/** The gradients of shards that {@link ShardOffload} keeps until the optimizer steps. */
final class OffloadedGradients implements GradientStore {
    /** A shard of a unit. */
    private record Place(OffloadedShards unit, int index) {}

    private final ShardOffload offload;
    private final Map<Long, Place> places = new HashMap<>();

    OffloadedGradients(ShardOffload offload) {
        this.offload = offload;
    }

    /** Takes over the gradients of a unit. */
    void add(UnitParameters parameters) {
        parameters.offloaded().ifPresent(unit -> {
            for (int i = 0; i < parameters.count(); i++) {
                places.put(TensorMemory.identity(parameters.shard(i)), new Place(unit, i));
                ParameterNotes.setGradients(List.of(parameters.shard(i)), this);
            }
        });
    }

    @Override
    public Tensor elements(Tensor parameter) {
        throw new IllegalStateException("the gradient of a shard of shape " + TensorMemory.shape(parameter)
                + " is not in memory: the offload keeps the gradient until the optimizer steps");
    }

    @Override
    public double[] norms(List<Tensor> parameters) {
        Map<OffloadedShards, double[]> ofUnits = new HashMap<>();
        return parameters.stream()
                .map(parameter -> Objects.requireNonNull(places.get(TensorMemory.identity(parameter))))
                .mapToDouble(
                        place -> ofUnits.computeIfAbsent(place.unit(), OffloadedShards::gradientNorms)[place.index()])
                .toArray();
    }

    @Override
    public void scale(List<Tensor> parameters, double factor) {
        if (parameters.size() != places.size()) {
            throw new IllegalArgumentException("the offload scales the gradients of all " + places.size()
                    + " shards together, not of " + parameters.size()
                    + ". Pass FullyShardedDataParallel.parameters().");
        }
        offload.scaleGradients(factor);
        places.values().stream().map(Place::unit).distinct().forEach(unit -> unit.scaleNorms(factor));
    }

    @Override
    public Optional<ProcessGroup> ranks() {
        return Optional.empty();
    }
}
