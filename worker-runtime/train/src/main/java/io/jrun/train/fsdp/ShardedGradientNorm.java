package io.jrun.train.fsdp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The 2-norm of gradients of which each rank of a group has other elements. Both methods are collective. Source:
 * Pascanu, Mikolov and Bengio, arXiv:1211.5063.
 *
 * @param group the ranks that share the gradients
 */
public record ShardedGradientNorm(ProcessGroup group) {
    /** torch's constant, against division by zero. */
    private static final double EPSILON = 1e-6;

    /** The norm over all ranks; {@code gradients} are this rank's. Squares are added in float64. */
    public double of(Collection<Tensor> gradients) {
        double[] squares = {0};
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (Tensor gradient : gradients) {
                double norm = torch.linalg_vector_norm(gradient.to(torch.ScalarType.Double))
                        .item_double();
                squares[0] += norm * norm;
            }
        }
        group.allReduce(MemorySegment.ofArray(squares), DataType.F64, 1, ReduceOp.SUM);
        return Math.sqrt(squares[0]);
    }

    /**
     * Multiplies the gradients by {@code maximum / (norm + 1e-6)} if this is less than 1.
     *
     * @param maximum the largest norm, more than 0
     * @return the norm before
     */
    public double clip(Collection<Tensor> gradients, double maximum) {
        if (!(maximum > 0)) {
            throw new IllegalArgumentException("the largest norm must be more than 0, not " + maximum);
        }
        double norm = of(gradients);
        double factor = maximum / (norm + EPSILON);
        if (factor < 1) {
            try (Scalar scalar = new Scalar(factor);
                    NoGradGuard _ = new NoGradGuard()) {
                gradients.forEach(gradient -> gradient.mul_(scalar));
            }
        }
        return norm;
    }
}
