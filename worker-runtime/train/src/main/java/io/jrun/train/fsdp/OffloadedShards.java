package io.jrun.train.fsdp;

import io.jrun.train.tensor.TensorMemory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** The shards of one unit whose values and gradients are in memory only while they are read or written. */
final class OffloadedShards {
    private final ShardOffload offload;
    private final int unit;
    private final List<Tensor> shards;
    private final PaddedMemory values;
    private final PaddedMemory gradients;
    private List<Double> squares = List.of();

    private OffloadedShards(
            ShardOffload offload, int unit, List<Tensor> shards, PaddedMemory values, PaddedMemory gradients) {
        this.offload = offload;
        this.unit = unit;
        this.shards = shards;
        this.values = values;
        this.gradients = gradients;
    }

    /** Moves the values of {@code shards} to the offload, and frees the memory of the gradients. */
    static OffloadedShards takeOver(
            ShardOffload offload, int unit, List<String> names, List<Tensor> shards, PaddedMemory gradients) {
        PaddedMemory values = new PaddedMemory(
                shards.stream().map(TensorMemory::sizes).toList(),
                shards.getFirst().scalar_type().intern());
        values.allocate();
        values.clear();
        Map<String, Tensor> named = new LinkedHashMap<>();
        for (int i = 0; i < shards.size(); i++) {
            Tensor view = values.view(i, TensorMemory.sizes(shards.get(i)));
            view.copy_(shards.get(i).detach());
            shards.get(i).set_data(view);
            named.put(names.get(i), shards.get(i));
        }
        offload.takeOver(unit, named, values.segment());
        values.free();
        gradients.free();
        return new OffloadedShards(offload, unit, List.copyOf(shards), values, gradients);
    }

    void load() {
        values.allocate();
        offload.readValues(unit, values.segment());
    }

    void release() {
        values.free();
    }

    void loadGradients() {
        gradients.allocate();
        for (int i = 0; i < shards.size(); i++) {
            shards.get(i).mutable_grad().put(gradients.view(i, TensorMemory.sizes(shards.get(i))));
        }
        if (offload.hasGradients(unit)) {
            offload.readGradients(unit, gradients.segment());
        } else {
            gradients.clear();
        }
    }

    /** The squares of the norms of the gradients that wait for a step of the optimizer. */
    List<Double> gradientSquares() {
        return offload.hasGradients(unit) ? squares : List.of();
    }

    void storeGradients() {
        squares = shards.stream()
                .filter(shard -> shard.numel() > 0)
                .map(shard -> ShardedGradientNorm.square(shard.mutable_grad()))
                .toList();
        offload.writeGradients(unit, gradients.segment());
        shards.forEach(shard -> shard.mutable_grad().reset());
        gradients.free();
    }
}
