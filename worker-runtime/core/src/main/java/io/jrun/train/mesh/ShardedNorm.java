package io.jrun.train.mesh;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The 2-norm of tensors of a mesh as one vector: the norm includes the parts of all ranks, and a replicated tensor
 * once. Squares are added in float64.
 */
public final class ShardedNorm {
    private ShardedNorm() {}

    /** The 2-norm of this rank's elements of a tensor, computed in float64. */
    public static double ofPart(Tensor part) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            return torch.linalg_vector_norm(part.to(torch.ScalarType.Double)).item_double();
        }
    }

    /**
     * The groups along whose axes the ranks hold different parts of each parameter, see {@link ParameterAxes}.
     *
     * @param further groups of which each rank holds other elements of all these parts
     */
    public static List<List<ProcessGroup>> groups(Collection<Tensor> parameters, ProcessGroup... further) {
        return parameters.stream()
                .map(parameter -> Stream.concat(
                                Stream.of(further),
                                ParameterAxes.divided(parameter).stream().map(MeshAxis::group))
                        .toList())
                .toList();
    }

    /**
     * The norms of whole tensors, from the norms of this rank's parts. Collective on the groups: their ranks pass the
     * same tensors in the same order.
     *
     * @param norms a norm for each tensor
     * @param groups the groups whose ranks hold different parts of each tensor; none for a tensor that is not divided
     */
    public static double[] ofWhole(double[] norms, List<List<ProcessGroup>> groups) {
        double[] whole = norms.clone();
        Set<ProcessGroup> distinct = new LinkedHashSet<>();
        groups.forEach(distinct::addAll);
        for (ProcessGroup group : distinct) {
            double[] squares = new double[whole.length];
            for (int i = 0; i < squares.length; i++) {
                squares[i] = groups.get(i).contains(group) ? whole[i] * whole[i] : 0;
            }
            group.allReduce(MemorySegment.ofArray(squares), DataType.F64, squares.length, ReduceOp.SUM);
            for (int i = 0; i < squares.length; i++) {
                whole[i] = groups.get(i).contains(group) ? Math.sqrt(squares[i]) : whole[i];
            }
        }
        return whole;
    }

    /** The norm of all tensors as one vector, from the norms of the whole tensors. */
    public static double ofAll(double[] wholeNorms) {
        double sum = 0;
        for (double norm : wholeNorms) {
            sum += norm * norm;
        }
        return Math.sqrt(sum);
    }
}
