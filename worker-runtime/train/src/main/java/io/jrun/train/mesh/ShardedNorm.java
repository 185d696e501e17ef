package io.jrun.train.mesh;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.global.torch;

/**
 * The 2-norm of tensors of a mesh as one vector: the norm includes the parts of all ranks, and a replicated tensor
 * once.
 */
public final class ShardedNorm {
    private ShardedNorm() {}

    /**
     * Returns the norm, the same on all ranks of the axis; squares are summed in float64. Collective on the axis.
     *
     * @throws IllegalArgumentException if a tensor is partial: the value of a partial tensor is not known before its
     *     reduction
     */
    public static double of(Collection<ShardedTensor> tensors, MeshAxis axis) {
        double[] sharded = {0};
        double replicated = 0;
        for (ShardedTensor tensor : tensors) {
            switch (tensor.placement(axis.name())) {
                case Shard _ -> sharded[0] += squares(tensor);
                case Replicate() -> replicated += squares(tensor);
                case Partial _ ->
                    throw new IllegalArgumentException("tensor '" + tensor.name() + "' is partial on the axis "
                            + axis.name() + ". Reduce the tensor before the norm.");
            }
        }
        axis.group().allReduce(MemorySegment.ofArray(sharded), DataType.F64, 1, ReduceOp.SUM);
        return Math.sqrt(sharded[0] + replicated);
    }

    private static double squares(ShardedTensor tensor) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            double norm = torch.linalg_vector_norm(tensor.local().to(torch.ScalarType.Double))
                    .item_double();
            return norm * norm;
        }
    }
}
