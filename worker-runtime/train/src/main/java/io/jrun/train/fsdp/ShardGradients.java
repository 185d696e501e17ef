package io.jrun.train.fsdp;

import io.jrun.train.optim.GradientClipping;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The gradients of this rank's shards, in memory or offloaded. Confined to the training thread. */
final class ShardGradients {
    private final ShardedGradientNorm norm;
    private final FsdpPass pass;
    private final @Nullable ShardOffload offload;

    ShardGradients(FsdpGroups groups, FsdpPass pass, @Nullable ShardOffload offload) {
        this.norm = new ShardedGradientNorm(groups.shards());
        this.pass = pass;
        this.offload = offload;
    }

    /** The norm over all ranks that share the model. */
    double norm() {
        return offload == null
                ? norm.of(inMemory())
                : norm.ofSquares(pass.units().stream()
                        .flatMap(unit -> unit.parameters().offloaded().stream())
                        .flatMap(shards -> shards.gradientSquares().stream())
                        .toList());
    }

    /** Bounds the gradients, and returns the norm before. */
    double clip(double maximum) {
        if (offload == null) {
            return norm.clip(inMemory(), maximum);
        }
        double before = norm();
        offload.scaleGradients(Math.min(1, GradientClipping.factor(before, maximum)));
        return before;
    }

    private List<Tensor> inMemory() {
        List<Tensor> gradients = new ArrayList<>();
        for (FsdpUnit unit : pass.units()) {
            for (int i = 0; i < unit.parameters().count(); i++) {
                Tensor shard = unit.parameters().shard(i);
                if (shard.numel() > 0 && shard.mutable_grad().defined()) {
                    gradients.add(shard.mutable_grad());
                }
            }
        }
        return gradients;
    }

    /** The memory of the gradients of all shards. */
    List<MemorySegment> memory() {
        return pass.units().stream()
                .map(unit -> unit.parameters().gradients().segment())
                .filter(segment -> segment.byteSize() > 0)
                .toList();
    }
}
