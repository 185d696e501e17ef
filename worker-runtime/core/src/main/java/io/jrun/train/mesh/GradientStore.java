package io.jrun.train.mesh;

import io.jrun.comm.ProcessGroup;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;

/**
 * Where this rank keeps the gradients of some parameters, if not in {@code .grad}: in a part of a bucket, or in a file.
 * {@link ParameterNotes#setGradients} says which parameters.
 */
public interface GradientStore {
    /**
     * This rank's elements of the gradient of a parameter: a view, in the caller's {@code PointerScope}. Undefined if
     * this rank has no element.
     *
     * @throws IllegalStateException if the gradient is not in memory
     */
    Tensor elements(Tensor parameter);

    /** The 2-norms of this rank's elements of the gradients of some parameters, computed in float64. */
    double[] norms(List<Tensor> parameters);

    /** Multiplies this rank's elements of the gradients of some parameters. */
    void scale(List<Tensor> parameters, double factor);

    /** The ranks that keep the other elements; empty if the placements of the parameters say which ranks do. */
    Optional<ProcessGroup> ranks();
}
