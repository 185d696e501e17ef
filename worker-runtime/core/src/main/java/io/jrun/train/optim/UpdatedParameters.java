package io.jrun.train.optim;

import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * The parameters that an optimizer updates by the gradients in {@code .grad}, for checks before an update. A check that
 * has passed is not repeated. One thread at a time.
 */
final class UpdatedParameters {
    /** The parameters of which this rank has elements. */
    private final List<ShardedTensor> here;
    /** {@link ParameterNotes#changes} before the last check. */
    private long checkedChanges;

    private boolean hadGradient;

    private UpdatedParameters(List<ShardedTensor> here) {
        this.here = here;
        checkedChanges = ParameterNotes.changes();
        Parameters.requireGradients(here);
    }

    /** @throws IllegalStateException if the gradients are elsewhere, see {@link Parameters#requireGradients} */
    static UpdatedParameters of(Map<String, ShardedTensor> parameters) {
        return new UpdatedParameters(
                parameters.values().stream().filter(ShardedTensor::isHere).toList());
    }

    /** Checks that no parallelism was applied since the optimizer was made. */
    void requireUnchanged() {
        long changes = ParameterNotes.changes();
        if (changes != checkedChanges) {
            Parameters.requireGradients(here);
            checkedChanges = changes;
        }
    }

    /**
     * As {@link #requireUnchanged}, and checks before the first step that it can update something.
     *
     * @throws IllegalStateException also if no parameter has a gradient
     */
    void requireReady() {
        requireUnchanged();
        if (hadGradient) {
            return;
        }
        Collection<ShardedTensor> trained =
                here.stream().filter(each -> each.local().requires_grad()).toList();
        if (!trained.isEmpty()
                && trained.stream()
                        .noneMatch(each -> each.local().mutable_grad().defined())) {
            throw new IllegalStateException("no parameter of the optimizer has a gradient, so the step would change"
                    + " nothing. Run the backward pass of a loss first, and make the optimizer of the parameters of the"
                    + " model that computes the loss.");
        }
        hadGradient = true;
    }
}
