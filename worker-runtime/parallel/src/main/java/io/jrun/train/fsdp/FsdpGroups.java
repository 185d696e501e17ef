package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.MeshAxis;
import org.jspecify.annotations.Nullable;

/**
 * The ranks that share a model.
 *
 * @param all the ranks whose gradients are averaged
 * @param axis each rank holds another part of the model
 * @param replicas each rank holds the same part; null if there is one copy of the model
 */
record FsdpGroups(ProcessGroup all, MeshAxis axis, @Nullable ProcessGroup replicas) {
    static FsdpGroups of(MeshAxis shards, MeshAxis replicas) {
        return new FsdpGroups(shards.with(replicas).group(), shards, replicas.size() == 1 ? null : replicas.group());
    }

    /** One copy of the model. */
    static FsdpGroups ofOneCopy(MeshAxis shards) {
        return new FsdpGroups(shards.group(), shards, null);
    }

    ProcessGroup shards() {
        return axis.group();
    }

    /**
     * Whether the gradients of several copies are added in the order of all ranks, as DistributedDataParallel adds
     * them. Otherwise the ranks of a copy add first, then the copies.
     */
    boolean addsInRankOrder() {
        return replicas != null && all.options().deterministic();
    }

    /** Whether a reduction over the replicas follows the reduction over the ranks of a copy. */
    boolean addsInTwoStages() {
        return replicas != null && !addsInRankOrder();
    }

    /** The group of this many neighbours of this rank; null for all ranks that share a copy. */
    @Nullable
    ProcessGroup neighbours(int count) {
        if (count < 2 || count == shards().size()) {
            return null;
        }
        if (shards().size() % count != 0) {
            throw new IllegalArgumentException("reshardAfterForward is " + count + " ranks, which does not divide the "
                    + shards().size() + " ranks that share the model");
        }
        return shards().split(shards().groupRank() / count, shards().groupRank());
    }

    /** The number of this rank among those that share a copy. */
    int shard() {
        return shards().groupRank();
    }

    /** Fails the operations of the other ranks, which would wait for this rank. */
    void abort(RuntimeException cause) {
        String message = "rank " + shards().worldRank(shards().groupRank()) + ": a pass failed: " + cause;
        shards().abort(message);
        if (addsInRankOrder()) {
            all.abort(message);
        } else if (replicas != null) {
            replicas.abort(message);
        }
    }
}
