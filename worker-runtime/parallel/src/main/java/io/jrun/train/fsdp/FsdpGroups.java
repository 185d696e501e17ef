package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.reducer.ReductionGroups;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The ranks that share a model.
 *
 * @param all the ranks whose gradients are added
 * @param axis each rank holds another part of the model
 * @param replicas each rank holds the same part; null if there is one copy of the model
 * @param samples the number of ranks that train on different samples, by which sums of gradients are divided
 * @param ofAll the ranks of {@code all} that add the gradients of a parameter
 * @param ofReplicas the ranks of {@code replicas} that add the gradients of a parameter
 */
record FsdpGroups(
        ProcessGroup all,
        MeshAxis axis,
        @Nullable ProcessGroup replicas,
        int samples,
        ReductionGroups ofAll,
        ReductionGroups ofReplicas) {
    static FsdpGroups of(MeshAxis shards, MeshAxis replicas) {
        ProcessGroup all = shards.with(replicas).group();
        return new FsdpGroups(
                all,
                shards,
                replicas.size() == 1 ? null : replicas.group(),
                all.size(),
                new ReductionGroups(all),
                new ReductionGroups(replicas.group()));
    }

    /** One copy of the model. */
    static FsdpGroups ofOneCopy(MeshAxis shards) {
        ReductionGroups groups = new ReductionGroups(shards.group());
        return new FsdpGroups(shards.group(), shards, null, shards.size(), groups, groups);
    }

    /**
     * The ranks that add the gradients of a parameter. Collective as {@link ReductionGroups#of}.
     *
     * @throws IllegalArgumentException if ranks that share experts share the rows too
     */
    FsdpGroups of(String name, Tensor parameter) {
        ShardedTensor placed = ShardedTensor.of(name, parameter);
        if (placed.routed().isEmpty()) {
            return this;
        }
        new GradientGroup("FullyShardedDataParallel", all).requireReducesHere(Map.of(name, placed));
        placed.routed().forEach(routed -> requireCopies(name, routed));
        ProcessGroup same = ofReplicas.of(parameter);
        return new FsdpGroups(ofAll.of(parameter), axis, same.size() == 1 ? null : same, samples, ofAll, ofReplicas);
    }

    private void requireCopies(String name, MeshAxis routed) {
        List<Integer> sharing = ranks(routed.group());
        sharing.retainAll(ranks(shards()));
        if (sharing.size() > 1) {
            throw new IllegalArgumentException("the experts '" + name + "' are divided along the axis '"
                    + routed.name() + "', but the ranks " + sharing + " share their rows along the axis '"
                    + axis.name() + "'. Let copies of the model share the experts: new FullyShardedDataParallel("
                    + "mesh.axis(\"shard\"), mesh.axis(\"dp\", \"" + routed.name() + "\"), options).");
        }
    }

    private static List<Integer> ranks(ProcessGroup group) {
        return IntStream.range(0, group.size())
                .mapToObj(group::worldRank)
                .collect(Collectors.toCollection(ArrayList::new));
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

    /** Whether the sums are divided when they are complete; otherwise the collective makes the means. */
    boolean dividesSums() {
        return addsInTwoStages() || samples != all.size();
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
            ofAll.abort(message);
        } else if (replicas != null) {
            ofReplicas.abort(message);
        }
    }
}
