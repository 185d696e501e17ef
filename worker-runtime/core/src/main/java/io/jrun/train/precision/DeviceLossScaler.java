package io.jrun.train.precision;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.AtenOperator;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * {@link LossScaler} for gradients on a device, without a wait of the host. The scale is a tensor of the device. In a
 * step with a gradient that is not finite, the kernel of the optimizer changes nothing, and the scale decreases: both in
 * the same step, on the device. The host learns of the step when it reads {@link #skipped} or {@link #state}.
 *
 * <pre>{@code
 * step.backward(scaler.scale(loss));
 * Tensor skip = scaler.unscale(parameters);
 * optimizer.step(skip);                     // FlatOptimizer
 * scaler.update();
 * }</pre>
 *
 * <p>Source: torch's GradScaler with fused optimizers. Confined to the training thread.
 */
public final class DeviceLossScaler implements AutoCloseable {
    private final ScalePolicy policy;
    private final @Nullable ProcessGroup group;
    private final Tensor scale;
    private final Tensor goodSteps;
    private final Tensor skip;
    private final Tensor skipped;

    /** @param group the ranks that skip a step together; null if no other rank holds a part of the parameters */
    public DeviceLossScaler(ScalePolicy policy, @Nullable ProcessGroup group, Device device) {
        Libtorch.load();
        this.policy = policy;
        this.group = group;
        try (PointerScope _ = new PointerScope()) {
            scale = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Float, 1));
            goodSteps = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Int, 1));
            skip = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Float, 1));
            skipped = TensorMemory.own(TensorMemory.zeros(device, torch.ScalarType.Float, 1));
        }
        load(policy.begin());
    }

    /** The loss times the scale. */
    public Tensor scale(Tensor loss) {
        return loss.mul(scale.squeeze());
    }

    /**
     * Divides the gradients of parameters by the scale in place. Collective over the group.
     *
     * @return a float32 tensor of one element, which this object owns: 1 if a gradient of any rank is not finite
     * @throws IllegalArgumentException if another rank holds a part of a parameter, or of its gradient, and is not
     *     in the group
     */
    public Tensor unscale(Collection<ShardedTensor> parameters) {
        GradientGroup.requireCovers("DeviceLossScaler", group, parameters);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            skip.zero_();
            Tensor inverse = scale.reciprocal();
            Map<torch.ScalarType, List<Tensor>> byType = new LinkedHashMap<>();
            Parameters.gradients(parameters)
                    .forEach(gradient -> byType.computeIfAbsent(
                                    gradient.scalar_type().intern(), _ -> new ArrayList<>())
                            .add(gradient));
            byType.values()
                    .forEach(alike -> Kernels.UNSCALE.call(
                            AtenOperator.list(alike), AtenOperator.tensor(skip), AtenOperator.tensor(inverse)));
        }
        if (group != null) {
            new TensorCollectives(group).allReduce(skip, ReduceOp.MAX);
        }
        return skip;
    }

    /** Changes the scale by the result of the last {@link #unscale}. */
    public void update() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            skipped.add_(skip);
            Kernels.UPDATE.call(
                    AtenOperator.tensor(scale),
                    AtenOperator.tensor(goodSteps),
                    AtenOperator.tensor(skip),
                    AtenOperator.number(policy.growth()),
                    AtenOperator.number(policy.backoff()),
                    AtenOperator.integer(policy.interval()));
        }
    }

    /** The number of skipped steps: a float32 tensor of one element, which this object owns. */
    public Tensor skipped() {
        return skipped;
    }

    /** The state for {@link #load}. Waits for the device. */
    public ScalePolicy.State state() {
        return new ScalePolicy.State(
                (float) DeviceWaits.number(scale), Math.toIntExact(DeviceWaits.integer(goodSteps)));
    }

    /** Loads a saved state. */
    public void load(ScalePolicy.State saved) {
        try (PointerScope _ = new PointerScope()) {
            scale.fill_(new Scalar(saved.scale()));
            goodSteps.fill_(new Scalar(saved.goodSteps()));
        }
    }

    @Override
    public void close() {
        List.of(scale, goodSteps, skip, skipped).forEach(Tensor::close);
    }

    /** The kernels, found when libtorch is loaded. */
    private static final class Kernels {
        static final AtenOperator UNSCALE = AtenOperator.of("aten::_amp_foreach_non_finite_check_and_unscale_", "");
        static final AtenOperator UPDATE = AtenOperator.of("aten::_amp_update_scale_", "");

        private Kernels() {}
    }
}
