package io.jrun.train.fsdp;

import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.BlockModel;
import org.bytedeco.pytorch.Module;

/**
 * Full sharding of a built model: each block is a unit, and the parameters outside of all blocks are one more unit.
 *
 * <pre>{@code
 * TensorParallel.apply(model, mesh.axis("tp"), plan);
 * Recompute.apply(model);
 * FullyShardedDataParallel sharded = FullyShard.apply(model, mesh.axis("shard"));
 * }</pre>
 *
 * <p>The model has its first values, and is whole in the memory of this rank until the call ends. A model that is too
 * large goes to {@link FullyShardedDataParallel} block by block while it is built.
 */
public final class FullyShard {
    private FullyShard() {}

    /** Shards over the ranks of an axis, with torch's defaults. */
    public static <M extends Module & BlockModel> FullyShardedDataParallel apply(M model, MeshAxis shards) {
        return apply(model, new FullyShardedDataParallel(shards, FsdpOptions.DEFAULT));
    }

    /** Shards as {@code sharding}, which has no units yet, says: with copies, other options or an offload. */
    public static <M extends Module & BlockModel> FullyShardedDataParallel apply(
            M model, FullyShardedDataParallel sharding) {
        model.wrapBlocks(sharding);
        sharding.shardRest(model);
        return sharding;
    }
}
