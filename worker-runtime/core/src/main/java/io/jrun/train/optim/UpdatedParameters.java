package io.jrun.train.optim;

import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * The parameters that an optimizer updates by the gradients in {@code .grad}, for checks before an update.
 *
 * @param here the parameters of which this rank has elements
 */
record UpdatedParameters(List<ShardedTensor> here) {
    /** @throws IllegalStateException if the gradients are elsewhere, see {@link Parameters#requireGradients} */
    static UpdatedParameters of(Map<String, ShardedTensor> parameters) {
        UpdatedParameters updated = new UpdatedParameters(
                parameters.values().stream().filter(ShardedTensor::isHere).toList());
        updated.requireUnchanged();
        return updated;
    }

    /** Checks that no parallelism was applied since the optimizer was made. */
    void requireUnchanged() {
        Parameters.requireGradients(here);
    }

    /**
     * As {@link #requireUnchanged}, and checks that a whole step can update something.
     *
     * @throws IllegalStateException also if no parameter has a gradient
     */
    void requireReady() {
        requireUnchanged();
        Collection<ShardedTensor> trained =
                here.stream().filter(each -> each.local().requires_grad()).toList();
        if (!trained.isEmpty()
                && trained.stream()
                        .noneMatch(each -> each.local().mutable_grad().defined())) {
            throw new IllegalStateException("no parameter of the optimizer has a gradient, so the step would change"
                    + " nothing. Run the backward pass of a loss first, and make the optimizer of the parameters of the"
                    + " model that computes the loss.");
        }
    }
}
