package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.ddp.hook.BucketCheck;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.precision.DeviceLossScaler;
import io.jrun.train.precision.LossScaler;
import io.jrun.train.precision.NonFiniteGuard;
import io.jrun.train.precision.ScalePolicy;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a step may update the parameters: {@code --on-nonfinite}, and the loss scale of float16. For a model
 * on a device the device decides, and the host reads the decisions where a step is reported and before a checkpoint.
 */
final class FiniteSteps implements AutoCloseable {
    private static final String SCALE_KEY = "loss_scale";

    private final TrainingRecipe recipe;
    private final ProcessGroup group;
    private final @Nullable LossScaler scaler;
    private @Nullable NonFiniteGuard guard;
    private @Nullable BucketCheck deviceCheck;
    private @Nullable DeviceLossScaler deviceScaler;
    private @Nullable Tensor skip;
    private @Nullable Device device;
    private long skipped;
    private Optional<String> unreported = Optional.empty();

    /** @param group the ranks that skip a step together */
    FiniteSteps(TrainingRecipe recipe, ProcessGroup group) {
        this.recipe = recipe;
        this.group = group;
        scaler = recipe.scalesLoss() ? new LossScaler(ScalePolicy.DEFAULT, group) : null;
    }

    /**
     * Checks the gradients of a module, before a parallelism adds its hooks. The host knows the scale of a module with
     * experts, because their routers scale losses of their own.
     */
    void watch(TrainableModel module) {
        Device ofModule = TensorMemory.device(
                ModuleTensors.parameters(module).values().iterator().next());
        if (!ofModule.isCpu()) {
            device = ofModule;
            deviceScaler = scaler == null || !Experts.layers(module).isEmpty()
                    ? null
                    : new DeviceLossScaler(ScalePolicy.DEFAULT, group, ofModule);
            return;
        }
        recipe.onNonFinite().ifPresent(policy -> guard = new NonFiniteGuard(policy, Parameters.of(module), group));
    }

    /**
     * Checks the gradients that this rank has at the end of a step, unless an earlier call lets hooks check them. The
     * passes of a pipeline make gradients without hooks. Steps then wait for a device.
     *
     * @param parameters by name, with the same names on all ranks
     */
    void watchAfterPasses(Map<String, ShardedTensor> parameters) {
        if (guard == null && deviceCheck == null) {
            recipe.onNonFinite().ifPresent(policy -> guard = NonFiniteGuard.afterPasses(policy, parameters, group));
        }
    }

    /** The hook that checks the gradients of a model on a device before {@code inner} exchanges them. */
    CommunicationHook before(CommunicationHook inner) {
        Device ofModule = device;
        if (ofModule == null || recipe.onNonFinite().isEmpty()) {
            return inner;
        }
        deviceCheck = new BucketCheck(recipe.onNonFinite().get(), group, ofModule);
        return deviceCheck.before(inner);
    }

    /** Checks a loss whose backward pass has ended. */
    void check(double loss) {
        if (guard != null) {
            guard.checkLoss(loss);
        }
    }

    /** The scale of the losses of a pipeline and of routers, whose passes do not call {@link #checked}; 1 without one. */
    double scale() {
        return scaler == null ? 1 : scaler.scale();
    }

    /** Checks a loss. Returns the loss for the backward pass. */
    Tensor checked(Tensor loss) {
        if (deviceCheck != null) {
            deviceCheck.loss(loss);
        }
        if (deviceScaler != null) {
            return deviceScaler.scale(loss);
        }
        if (guard != null) {
            guard.checkLoss(loss);
        }
        return scaler == null ? loss : scaler.scale(loss);
    }

    /**
     * Whether the gradients of all ranks allow an update. The gradients then have no scale. Collective. True for a model
     * on a device whose hooks check the gradients: {@link #skip} then decides.
     *
     * @param parameters those of the model
     */
    boolean mayUpdate(long step, Supplier<Map<String, ShardedTensor>> parameters) {
        if (guard != null && !guard.mayStep(step)) {
            skip(guard.lastSkipped());
            return false;
        }
        if (deviceScaler != null || deviceCheck != null) {
            decideOnDevice(step, parameters);
            return true;
        }
        if (scaler == null) {
            return true;
        }
        float scale = scaler.state().scale();
        boolean isFinite = scaler.unscale(parameters.get().values());
        scaler.update();
        if (!isFinite) {
            skip("step " + step + ": a gradient is not finite with the loss scale " + scale);
        }
        return isFinite;
    }

    private void decideOnDevice(long step, Supplier<Map<String, ShardedTensor>> parameters) {
        if (deviceScaler != null) {
            skip = deviceScaler.unscale(parameters.get().values());
            deviceScaler.update();
        } else if (deviceCheck != null) {
            skip = deviceCheck.endStep(step);
        }
    }

    /** A float32 tensor on the device, 1 if the update of this step must change nothing; null if it must not be skipped. */
    @Nullable
    Tensor skip() {
        return skip;
    }

    /** The input of {@link #found}, on the device; null if there is nothing. The caller frees the tensor. */
    @Nullable
    Tensor pending() {
        try (PointerScope _ = new PointerScope()) {
            if (deviceScaler != null) {
                return TensorMemory.own(deviceScaler.skipped().clone());
            }
            return deviceCheck == null ? null : TensorMemory.own(deviceCheck.state());
        }
    }

    /**
     * Learns what the device has decided since the last call.
     *
     * @param pending the elements of {@link #pending}
     * @throws io.jrun.train.precision.NonFiniteException if the training must stop
     */
    void found(double[] pending) {
        long before = skipped;
        skipped = deviceCheck == null ? (long) pending[0] : deviceCheck.found(pending);
        if (skipped > before) {
            unreported = Optional.of(
                    deviceCheck == null
                            ? (skipped - before) + " steps: a gradient is not finite with the loss scale"
                            : deviceCheck.lastSkipped());
        }
    }

    private void read() {
        Tensor state = pending();
        if (state != null) {
            found(DeviceWaits.numbers(List.of(state)));
            state.close();
        }
    }

    private void skip(String reason) {
        skipped++;
        unreported = Optional.of(reason);
    }

    /** The number of skipped steps. Waits for a device. */
    long skipped() {
        read();
        return skipped;
    }

    /** The reason for the last skipped step, if no earlier call has returned the reason. */
    Optional<String> takeReason() {
        Optional<String> reason = unreported;
        unreported = Optional.empty();
        return reason;
    }

    /** Adds the loss scale to a checkpoint. Waits for a device, and throws if the training must stop. */
    void put(StateDict state) {
        read();
        if (scaler != null) {
            ScalePolicy.State scale = deviceScaler == null ? scaler.state() : deviceScaler.state();
            state.putText(SCALE_KEY, scale.scale() + " " + scale.goodSteps());
        }
    }

    void load(SavedCheckpoint saved) {
        String text = saved.texts().get(SCALE_KEY);
        if (scaler != null && text != null) {
            String[] parts = text.split(" ", 2);
            ScalePolicy.State scale = new ScalePolicy.State(Float.parseFloat(parts[0]), Integer.parseInt(parts[1]));
            scaler.load(scale);
            if (deviceScaler != null) {
                deviceScaler.load(scale);
            }
        }
    }

    @Override
    public void close() {
        if (guard != null) {
            guard.close();
        }
        if (deviceCheck != null) {
            deviceCheck.close();
        }
        if (deviceScaler != null) {
            deviceScaler.close();
        }
    }
}
