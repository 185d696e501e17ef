package io.jrun.examples.gpt;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.precision.LossScaler;
import io.jrun.train.precision.NonFiniteGuard;
import io.jrun.train.precision.ScalePolicy;
import io.jrun.train.tensor.ModuleTensors;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** Decides whether a step may update the parameters: {@code --on-nonfinite}, and the loss scale of float16. */
final class FiniteSteps implements AutoCloseable {
    private static final String SCALE_KEY = "loss_scale";

    private final GptRecipe recipe;
    private final ProcessGroup group;
    private final @Nullable LossScaler scaler;
    private @Nullable NonFiniteGuard guard;
    private long skipped;
    private Optional<String> unreported = Optional.empty();

    /** @param group the ranks that skip a step together */
    FiniteSteps(GptRecipe recipe, ProcessGroup group) {
        this.recipe = recipe;
        this.group = group;
        scaler = recipe.scalesLoss() ? new LossScaler(ScalePolicy.DEFAULT, group) : null;
    }

    /** Checks the gradients of a module, before a parallelism adds its hooks. */
    void watch(Module module) {
        recipe.onNonFinite()
                .ifPresent(policy -> guard = new NonFiniteGuard(policy, ModuleTensors.parameters(module), group));
    }

    /**
     * Checks the gradients that this rank has at the end of a step. The passes of a pipeline make gradients without
     * hooks.
     *
     * @param gradients by the names of the parameters, with the same names on all ranks
     */
    void watchAfterPasses(Map<String, Supplier<Tensor>> gradients) {
        recipe.onNonFinite().ifPresent(policy -> guard = NonFiniteGuard.afterPasses(policy, gradients, group));
    }

    /** Checks a loss whose backward pass has ended. */
    void check(double loss) {
        if (guard != null) {
            guard.checkLoss(loss);
        }
    }

    /** Checks a loss. Returns the loss for the backward pass. */
    Tensor checked(Tensor loss) {
        if (guard != null) {
            guard.checkLoss(loss);
        }
        return scaler == null ? loss : scaler.scale(loss);
    }

    /**
     * Whether the gradients of all ranks allow an update. The gradients then have no scale. Collective.
     *
     * @param gradients those that the optimizer of this rank uses
     */
    boolean mayUpdate(long step, Supplier<Collection<Tensor>> gradients) {
        if (guard != null && !guard.mayStep(step)) {
            skip(guard.lastSkipped());
            return false;
        }
        if (scaler == null) {
            return true;
        }
        float scale = scaler.scale();
        boolean isFinite = scaler.unscaleGradients(gradients.get());
        scaler.update();
        if (!isFinite) {
            skip("step " + step + ": a gradient is not finite with the loss scale " + scale);
        }
        return isFinite;
    }

    private void skip(String reason) {
        skipped++;
        unreported = Optional.of(reason);
    }

    /** The number of skipped steps. */
    long skipped() {
        return skipped;
    }

    /** The reason for the last skipped step, if no earlier call has returned the reason. */
    Optional<String> takeReason() {
        Optional<String> reason = unreported;
        unreported = Optional.empty();
        return reason;
    }

    void put(StateDict state) {
        if (scaler != null) {
            state.putText(
                    SCALE_KEY, scaler.state().scale() + " " + scaler.state().goodSteps());
        }
    }

    void load(SavedCheckpoint saved) {
        String text = saved.texts().get(SCALE_KEY);
        if (scaler != null && text != null) {
            String[] parts = text.split(" ", 2);
            scaler.load(new ScalePolicy.State(Float.parseFloat(parts[0]), Integer.parseInt(parts[1])));
        }
    }

    @Override
    public void close() {
        if (guard != null) {
            guard.close();
        }
    }
}
