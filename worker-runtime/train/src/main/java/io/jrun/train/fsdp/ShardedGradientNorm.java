package io.jrun.train.fsdp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.optim.GradientClipping;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The 2-norm of gradients of which each rank of a group has other elements. The methods are collective. Source:
 * Pascanu, Mikolov and Bengio, arXiv:1211.5063.
 *
 * @param group the ranks that share the gradients
 */
public record ShardedGradientNorm(ProcessGroup group) {
    /** The norm over all ranks; {@code gradients} are this rank's. Squares are added in float64. */
    public double of(Collection<Tensor> gradients) {
        return ofSquares(gradients.stream().map(ShardedGradientNorm::square).toList());
    }

    /** The norm over all ranks, from the squares of the norms of this rank's gradients. */
    double ofSquares(List<Double> squares) {
        double[] sum = {0};
        for (double square : squares) {
            sum[0] += square;
        }
        group.allReduce(MemorySegment.ofArray(sum), DataType.F64, 1, ReduceOp.SUM);
        return Math.sqrt(sum[0]);
    }

    /** The norms of several gradients over all ranks, from the norms of this rank's elements of each gradient. */
    public double[] ofParts(double[] norms) {
        double[] squares = Arrays.stream(norms).map(norm -> norm * norm).toArray();
        group.allReduce(MemorySegment.ofArray(squares), DataType.F64, squares.length, ReduceOp.SUM);
        return Arrays.stream(squares).map(Math::sqrt).toArray();
    }

    /** The square of the norm of one gradient. */
    static double square(Tensor gradient) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            double norm = torch.linalg_vector_norm(gradient.to(torch.ScalarType.Double))
                    .item_double();
            return norm * norm;
        }
    }

    /**
     * Multiplies the gradients by {@code maximum / (norm + 1e-6)} if this is less than 1.
     *
     * @param maximum the largest norm, more than 0
     * @return the norm before
     */
    public double clip(Collection<Tensor> gradients, double maximum) {
        double norm = of(gradients);
        GradientClipping.scaleToNorm(gradients, norm, maximum);
        return norm;
    }
}
