package io.jrun.train.mesh;

import java.util.Set;

/**
 * Gradients that passes without a reduction have added, and that no reduction has given to {@code .grad} of the
 * parameters yet. {@link ParameterNotes#setUnreduced} says of which parameters.
 */
public interface UnreducedGradients {
    /**
     * Drops what was added for some parameters, as {@code zero_grad()} does.
     *
     * @param parameters their identities, see {@code TensorMemory.identity}; may have those of other parameters too
     */
    void drop(Set<Long> parameters);
}
