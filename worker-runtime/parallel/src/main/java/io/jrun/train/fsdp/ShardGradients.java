package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.ShardedNorm;
import io.jrun.train.optim.GradientClipping;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The gradients of this rank's shards, in memory or offloaded. Confined to the training thread. */
final class ShardGradients {
    private final ProcessGroup shards;
    private final FsdpPass pass;
    private final @Nullable ShardOffload offload;

    ShardGradients(FsdpGroups groups, FsdpPass pass, @Nullable ShardOffload offload) {
        this.shards = groups.shards();
        this.pass = pass;
        this.offload = offload;
    }

    /** The norm over all ranks that share the model, and over the ranks of the axes that divide its parameters. */
    double norm() {
        List<Tensor> modules = new ArrayList<>();
        List<Double> norms = new ArrayList<>();
        for (FsdpUnit unit : pass.units()) {
            norms.addAll(unit.parameters()
                    .offloaded()
                    .map(OffloadedShards::gradientNorms)
                    .orElseGet(() -> norms(unit.parameters())));
            IntStream.range(0, unit.parameters().count())
                    .mapToObj(unit.parameters()::module)
                    .forEach(modules::add);
        }
        return ShardedNorm.ofAll(ShardedNorm.ofWhole(
                norms.stream().mapToDouble(Double::doubleValue).toArray(), ShardedNorm.groups(modules, shards)));
    }

    private static List<Double> norms(UnitParameters parameters) {
        return IntStream.range(0, parameters.count())
                .mapToObj(parameters::shard)
                .map(shard -> shard.numel() > 0 && shard.mutable_grad().defined()
                        ? ShardedNorm.ofPart(shard.mutable_grad())
                        : 0.0)
                .toList();
    }

    /** Bounds the gradients, and returns the norm before. */
    double clip(double maximum) {
        double before = norm();
        if (offload == null) {
            GradientClipping.scaleToNorm(inMemory(), before, maximum);
        } else {
            offload.scaleGradients(Math.min(1, GradientClipping.factor(before, maximum)));
        }
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
