package io.jrun.train.precision;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import io.jrun.train.mesh.GradientGroup;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.DeviceWaits;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Finds the first rank and parameter with a gradient that is NaN or infinite, or the rank with such a loss. Hooks check
 * each gradient before the ranks average the gradient, so the message names the rank that is the cause.
 *
 * <pre>{@code
 * var guard = new NonFiniteGuard(NonFinitePolicy.SKIP, parameters, group);   // before DistributedDataParallel
 * ...
 * guard.checkLoss(loss);
 * step.backward(loss);
 * if (guard.mayStep(number)) {
 *     optimizer.step();
 * }
 * }</pre>
 *
 * <p>Confined to the training thread. All ranks must call {@link #mayStep} equally often.
 */
public final class NonFiniteGuard implements AutoCloseable {
    private static final long NONE = Long.MAX_VALUE;
    private static final int LOSS = 0;

    /** More than the numbers of all ranks and parameters. */
    private static final long AFTER_LOSSES = 1L << 60;

    private final NonFinitePolicy policy;
    private final List<String> names;
    private final List<Supplier<Tensor>> gradients;
    private final ProcessGroup group;
    private final @Nullable LeafHooks hooks;
    private final long[] first = {NONE};
    private long skipped;
    private String lastSkipped = "";

    /**
     * Adds the hooks. libtorch calls hooks in the order of their addition: make this object before
     * {@code DistributedDataParallel}.
     *
     * @param trained parameters by name; the guard ignores parameters that require no gradient
     */
    public NonFiniteGuard(NonFinitePolicy policy, Map<String, ShardedTensor> trained, ProcessGroup group) {
        Map<String, ShardedTensor> checked = new LinkedHashMap<>(trained);
        checked.values().removeIf(parameter -> !parameter.local().requires_grad());
        new GradientGroup("NonFiniteGuard", group).requireCovers(checked.values());
        this.policy = policy;
        this.group = group;
        names = List.copyOf(checked.keySet());
        List<Tensor> tensors =
                checked.values().stream().map(ShardedTensor::local).toList();
        gradients = tensors.stream()
                .<Supplier<Tensor>>map(tensor -> tensor::mutable_grad)
                .toList();
        hooks = AutogradBridge.instance().watch(tensors, this::checkGradient);
    }

    private NonFiniteGuard(NonFinitePolicy policy, ProcessGroup group, Map<String, ShardedTensor> parameters) {
        this.policy = policy;
        this.group = group;
        names = List.copyOf(parameters.keySet());
        gradients = parameters.values().stream()
                .<Supplier<Tensor>>map(parameter -> parameter::gradient)
                .toList();
        hooks = null;
    }

    /**
     * A guard without hooks: {@link #mayStep} checks the gradients that this rank then has. For passes that make
     * gradients outside of libtorch's backward pass, as those of a pipeline. A loss is named before a gradient: the
     * gradients of all stages follow from it.
     *
     * @param parameters by name, the same names on all ranks
     */
    public static NonFiniteGuard afterPasses(
            NonFinitePolicy policy, Map<String, ShardedTensor> parameters, ProcessGroup group) {
        return new NonFiniteGuard(policy, group, parameters);
    }

    /** Stores whether this rank's loss is finite. Waits for the loss. */
    public void checkLoss(Tensor loss) {
        checkLoss(DeviceWaits.number(loss));
    }

    /** Stores whether this rank's loss is finite. */
    public void checkLoss(double loss) {
        if (!Double.isFinite(loss)) {
            note(LOSS);
        }
    }

    private void checkGradient(int parameter) {
        Tensor gradient = gradients.get(parameter).get();
        if (first[0] == NONE && gradient.defined() && !isFinite(gradient)) {
            note(parameter + 1);
        }
    }

    /**
     * Whether all elements are finite. A finite sum has finite elements only. A sum of finite elements may overflow, so
     * a sum that is not finite leads to a check of the elements.
     */
    static boolean isFinite(Tensor tensor) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            return Double.isFinite(DeviceWaits.number(tensor.sum()))
                    || DeviceWaits.flag(torch.isfinite(tensor).all());
        }
    }

    /** Keeps the first value of this rank that is not finite: later values follow from the first. */
    private void note(int place) {
        if (first[0] == NONE) {
            long later = hooks == null && place != LOSS ? AFTER_LOSSES : 0;
            first[0] = later + (long) group.worldRank(group.groupRank()) * (names.size() + 1) + place;
        }
    }

    /**
     * Whether the optimizer may step: the losses and gradients of all ranks were finite since the last call. Collective
     * over the group.
     *
     * @param step number of the step for the message
     * @throws NonFiniteException on all ranks, if the policy is to stop
     */
    public boolean mayStep(long step) {
        if (hooks == null) {
            IntStream.range(0, gradients.size()).forEach(this::checkGradient);
        }
        group.allReduce(MemorySegment.ofArray(first), DataType.I64, 1, ReduceOp.MIN);
        long found = first[0];
        first[0] = NONE;
        if (found == NONE) {
            return true;
        }
        if (policy == NonFinitePolicy.STOP) {
            throw NonFiniteException.at(place(found, step));
        }
        skipped++;
        lastSkipped = place(found, step);
        return false;
    }

    private String place(long noted, long step) {
        long found = noted % AFTER_LOSSES;
        long rank = found / (names.size() + 1);
        int place = Math.toIntExact(found % (names.size() + 1));
        String what = place == LOSS ? "the loss" : "the gradient of '" + names.get(place - 1) + "'";
        return "rank " + rank + ", step " + step + ": " + what + " is not finite";
    }

    /** The number of skipped steps so far. */
    public long skipped() {
        return skipped;
    }

    /** The reason for the last skipped step: rank, step and parameter; empty before the first skipped step. */
    public String lastSkipped() {
        return lastSkipped;
    }

    /** Removes the hooks. */
    @Override
    public void close() {
        if (hooks != null) {
            hooks.close();
        }
    }
}
