package io.jrun.train.expert;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Shard;
import io.jrun.train.module.AppliedLayers;
import io.jrun.train.module.BlockModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensor.ModuleTensors;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Module;

/**
 * Makes the ranks of an axis share the experts of a model. Each rank keeps an equal part of the experts of each
 * {@link MixtureOfExperts}, and all other parameters. The ranks of the axis train on different samples, and are among
 * the ranks over which data parallelism takes the mean. The gradient of an expert has the tokens of all ranks of the
 * axis. Therefore {@code DistributedDataParallel}, ZeRO, full sharding and the replicas of a pipeline add the gradients
 * of an expert over the other ranks alone, and divide the sum by the number of all ranks, see
 * {@code ShardedTensor.routed}.
 */
public final class ExpertParallel {
    private static final String EXPERTS = ".experts.";

    private final MeshAxis axis;
    private final AppliedLayers shared = new AppliedLayers("ExpertParallel");

    /**
     * Shares experts.
     *
     * @param axis ranks that train on different samples
     */
    public ExpertParallel(MeshAxis axis) {
        this.axis = axis;
    }

    /** Shares the experts of a block as soon as the block is built. As {@link #apply(CompositeModule)}. */
    public void apply(ModelBlock block) {
        if (block.module() instanceof CompositeModule composite) {
            share(block.name() + ".", composite);
        }
    }

    /**
     * Shares the experts of all layers of a model that this object has not shared yet. The parameters have their first
     * values, equal on all ranks.
     *
     * @throws IllegalArgumentException if the ranks do not divide the experts, or if a layer is shared already; the
     *     message names the layer, and no layer is changed
     * @throws IllegalArgumentException also if the model has no {@code MixtureOfExperts} below itself
     * @throws IllegalStateException if the model is not built
     */
    public void apply(CompositeModule model) {
        BlockModel.requireBuilt(model);
        if (model.descendants(MixtureOfExperts.class).isEmpty()) {
            throw new IllegalArgumentException(
                    "the model has no layer of the class MixtureOfExperts, so there are no experts to share");
        }
        share("", model);
    }

    private void share(String prefix, CompositeModule part) {
        Map<String, MixtureOfExperts> found = new LinkedHashMap<>();
        part.descendants(MixtureOfExperts.class).forEach((name, layer) -> {
            if (!shared.contains(prefix + name, layer)) {
                found.put(prefix + name, layer);
            }
        });
        shared.requireDistinct(found);
        found.forEach(this::check);
        found.forEach((name, layer) -> {
            layer.share(axis);
            ModuleTensors.parameters(experts(layer))
                    .forEach((parameter, tensor) ->
                            ParameterNotes.divide(name + EXPERTS + parameter, tensor, Shard.routed(0), axis, layer));
            shared.add(name, layer);
        });
    }

    private void check(String name, MixtureOfExperts layer) {
        int count = layer.options().experts();
        if (count % axis.size() != 0) {
            throw new IllegalArgumentException("layer '" + name + "': " + count + " experts cannot be shared by "
                    + axis.size() + " expert parallel ranks in equal parts. Choose another number of experts, or of"
                    + " ranks.");
        }
        ParameterNotes.requireWhole(name, experts(layer), "ExpertParallel");
    }

    private static Module experts(MixtureOfExperts layer) {
        return Objects.requireNonNull(layer.descendants().get("experts"));
    }
}
