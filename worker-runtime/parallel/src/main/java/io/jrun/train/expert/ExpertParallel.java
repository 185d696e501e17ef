package io.jrun.train.expert;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensor.ModuleTensors;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Makes the ranks of an axis share the experts of a model. Each rank keeps an equal part of the experts of each
 * {@link MixtureOfExperts}, and all other parameters. The ranks of the axis train on different samples, and are among the
 * ranks over which data parallelism takes the mean. The gradient of an expert has the tokens of all ranks of the axis.
 * Therefore {@code DistributedDataParallel}, ZeRO, full sharding and the replicas of a pipeline add the gradients of an
 * expert over the other ranks alone, and divide the sum by the number of all ranks, see
 * {@code ShardedTensor.routed}.
 */
public final class ExpertParallel {
    private final MeshAxis axis;
    /** The prefixes of the names of the layers that are shared. */
    private final Set<String> layers = new HashSet<>();

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
     * Shares the experts of all layers of a model that this object has not shared yet. The parameters have their first values, equal on all ranks.
     *
     * @throws IllegalArgumentException if the ranks do not divide the experts; the message names the layer
     */
    public void apply(CompositeModule model) {
        share("", model);
    }

    private void share(String prefix, CompositeModule part) {
        part.descendants(MixtureOfExperts.class).forEach((name, layer) -> {
            int count = layer.options().experts();
            if (count % axis.size() != 0) {
                throw new IllegalArgumentException("layer '" + prefix + name + "': " + count
                        + " experts cannot be shared by " + axis.size() + " expert parallel ranks in equal parts."
                        + " Choose another number of experts, or of ranks.");
            }
            String before = prefix + name + ".experts.";
            if (!layers.add(before)) {
                return; // shared with its block
            }
            layer.share(axis);
            ModuleTensors.parameters(Objects.requireNonNull(layer.descendants().get("experts")))
                    .forEach((parameter, tensor) -> shard(before + parameter, tensor, layer));
        });
    }

    private void shard(String name, Tensor parameter, Module layer) {
        if (!ShardedTensor.of(name, parameter).divided().isEmpty()) {
            throw new IllegalArgumentException(
                    "ranks share the experts '" + name + "' already. Apply ExpertParallel once.");
        }
        try (PointerScope _ = new PointerScope(); // frees the whole tensor now
                NoGradGuard _ = new NoGradGuard()) {
            ShardedTensor part = ShardedTensor.distribute(name, parameter, Shard.routed(0), axis);
            parameter.set_data(part.local());
            part.local().close();
            ParameterNotes.setPlaced(part.withLocal(parameter), layer);
        }
    }
}
