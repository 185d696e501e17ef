package io.jrun.train.precision;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.DeviceWaits;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Multiplies a loss by a scale and divides the gradients by the scale, so that small float16 gradients do not become 0.
 * If a gradient of any rank is not finite, all ranks skip the step and the scale decreases. For gradients on a device use
 * {@link DeviceLossScaler}, which does not wait.
 *
 * <pre>{@code
 * step.backward(scaler.scale(loss));
 * scaler.step(parameters, optimizer::step);
 * }</pre>
 *
 * <p>Confined to the training thread.
 */
public final class LossScaler {
    private final ScalePolicy policy;
    private final @Nullable ProcessGroup group;
    /** 1 if a gradient is not finite, and 1 if a loss was scaled: on this rank, then on any rank. */
    private final float[] flags = new float[2];

    private ScalePolicy.State state;
    private boolean allFinite = true;
    /** Whether the program has got the scale since the last update. */
    private boolean isScaled;

    private boolean isUnscaled;

    /** @param group the ranks that skip a step together; null if no other rank holds a part of the parameters */
    public LossScaler(ScalePolicy policy, @Nullable ProcessGroup group) {
        this.policy = policy;
        this.group = group;
        this.state = policy.begin();
    }

    /** The present scale. A program that multiplies its losses itself reads it in each step. */
    public float scale() {
        isScaled = true;
        return state.scale();
    }

    /** The state for {@link #load}. */
    public ScalePolicy.State state() {
        return state;
    }

    /** Loads a saved state. */
    public void load(ScalePolicy.State saved) {
        state = saved;
    }

    /** The loss times the scale. */
    public Tensor scale(Tensor loss) {
        return loss.mul(new Scalar(scale()));
    }

    /**
     * Divides the gradients of parameters by the scale in place. Collective over the group. Several optimizers share one
     * call, with the parameters of all of them.
     *
     * @return whether all gradients of all ranks are finite; if not, no rank may step
     * @throws IllegalArgumentException if another rank holds a part of a parameter, or of its gradient, and is not
     *     in the group
     * @throws IllegalStateException if the gradients have no scale since an earlier call, or if no rank of the group has
     *     scaled a loss since the last {@link #update}
     */
    public boolean unscale(Collection<ShardedTensor> parameters) {
        GradientGroup.requireCovers("LossScaler", group, parameters);
        if (isUnscaled) {
            throw new IllegalStateException("unscale was called before in this step: the gradients would be divided"
                    + " twice. Call update at the end of each step.");
        }
        if (group == null) {
            requireScaled(isScaled);
        }
        isUnscaled = true;
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Scalar inverse = new Scalar(1 / (double) state.scale());
            List<Tensor> finite = new ArrayList<>();
            for (Tensor gradient : Parameters.gradients(parameters)) {
                gradient.mul_(inverse);
                finite.add(torch.isfinite(gradient).all());
            }
            boolean finiteHere = finite.isEmpty()
                    || DeviceWaits.flag(torch.stack(new TensorVector(finite.toArray(Tensor[]::new)))
                            .all());
            flags[0] = finiteHere ? 0 : 1;
            flags[1] = isScaled ? 1 : 0;
        }
        if (group != null) { // a stage of a pipeline, or a rank without inputs, has no loss of its own
            group.allReduce(MemorySegment.ofArray(flags), DataType.F32, flags.length, ReduceOp.MAX);
            requireScaled(flags[1] != 0);
        }
        allFinite = flags[0] == 0;
        return allFinite;
    }

    private static void requireScaled(boolean isScaledAnywhere) {
        if (!isScaledAnywhere) {
            throw new IllegalStateException("no loss was scaled since the last update, so the gradients do not have the"
                    + " present scale. Several optimizers share one scaler like this: call unscale once, with the"
                    + " parameters of all optimizers, then step each optimizer, then call update once.");
        }
    }

    /**
     * Divides the gradients by the scale, runs {@code optimizer} if all gradients of all ranks are finite, and changes
     * the scale. To clip gradients, or to step several optimizers, call {@link #unscale} first, then clip, step and call
     * {@link #update}. Collective over the group.
     *
     * @return whether the optimizer has stepped
     */
    public boolean step(Collection<ShardedTensor> parameters, Runnable optimizer) {
        boolean steps = unscale(parameters);
        if (steps) {
            optimizer.run();
        }
        update();
        return steps;
    }

    /** Changes the scale by the result of the last {@link #unscale}. */
    public void update() {
        state = policy.after(state, allFinite);
        allFinite = true;
        isScaled = false;
        isUnscaled = false;
    }
}
