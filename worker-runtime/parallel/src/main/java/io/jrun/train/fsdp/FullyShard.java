package io.jrun.train.fsdp;

import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.BlockModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensor.ModuleTensors;
import org.bytedeco.pytorch.Module;

/**
 * Full sharding of a model: each block is a unit, and the parameters outside of all blocks are one more unit.
 *
 * <pre>{@code
 * TensorParallel.apply(model, mesh.axis("tp"), plan);
 * Recompute.apply(model);
 * FullyShardedDataParallel sharding = FullyShard.apply(model, mesh.axis("shard"));
 * }</pre>
 *
 * <p>An optimizer gets {@link FullyShardedDataParallel#parameters()}, not the parameters of the module. The module's own
 * tensors have no readable gradients after a pass: {@code step()} of libtorch's {@code new AdamW(model.parameters())}
 * throws an exception that says so.
 *
 * <p>The parameters have their first values. A built model is whole in the memory of this rank until the call ends. A
 * model that is too large is sharded block by block while it is built:
 *
 * <pre>{@code
 * var sharding = new FullyShardedDataParallel(mesh.axis("shard"), FsdpOptions.DEFAULT);
 * model.build(block -> {
 *     Recompute.apply(block);
 *     FullyShard.apply(block, sharding);
 * });
 * FullyShard.apply(model, sharding);    // the parameters outside of all blocks
 * }</pre>
 */
public final class FullyShard {
    private FullyShard() {}

    /** Shards a model over the ranks of an axis, with torch's defaults. */
    public static FullyShardedDataParallel apply(Module model, MeshAxis shards) {
        FullyShardedDataParallel sharding = new FullyShardedDataParallel(shards, FsdpOptions.DEFAULT);
        apply(model, sharding);
        return sharding;
    }

    /** Makes a block a unit: each rank keeps its rows of the parameters, which are gathered when the block computes. */
    public static void apply(ModelBlock block, FullyShardedDataParallel sharding) {
        sharding.shard(block);
    }

    /**
     * Shards what is not sharded yet: the blocks of a {@link BlockModel}, each as a unit, and the other parameters of
     * the model as one more unit, which is whole while a step is open. Needed also after all blocks were sharded.
     *
     * @throws IllegalArgumentException if {@code sharding} has the parameters of another model
     */
    public static void apply(Module model, FullyShardedDataParallel sharding) {
        if (model instanceof BlockModel blocks) {
            blocks.blocks().forEach(sharding::shard);
        }
        sharding.root(ModuleTensors.parameters(model));
    }
}
