package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import org.jspecify.annotations.Nullable;

/**
 * The ranks that share a model.
 *
 * @param shards each rank holds another part of the model
 * @param replicas each rank holds the same part; null if there is one copy of the model
 */
record FsdpGroups(ProcessGroup shards, @Nullable ProcessGroup replicas) {
    /** The number of ranks whose gradients are averaged. */
    int ranks() {
        return shards.size() * (replicas == null ? 1 : replicas.size());
    }

    /** The group of this many neighbours of this rank; null for all ranks that share a copy. */
    @Nullable
    ProcessGroup neighbours(int count) {
        if (count < 2 || count == shards.size()) {
            return null;
        }
        if (shards.size() % count != 0) {
            throw new IllegalArgumentException("reshardAfterForward is " + count + " ranks, which does not divide the "
                    + shards.size() + " ranks that share the model");
        }
        return shards.split(shards.groupRank() / count, shards.groupRank());
    }

    /** The number of this rank among those that share a copy. */
    int shard() {
        return shards.groupRank();
    }

    /** Fails the operations of the other ranks, which would wait for this rank. */
    void abort(RuntimeException cause) {
        String message = "rank " + shards.worldRank(shards.groupRank()) + ": a pass failed: " + cause;
        shards.abort(message);
        if (replicas != null) {
            replicas.abort(message);
        }
    }
}
