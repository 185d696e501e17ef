package io.jrun.train.fsdp;

import io.jrun.train.mesh.UnreducedGradients;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.UnreadableTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The gradients of the module's tensors of one unit, until their reduction. Between two passes each trained tensor has a
 * gradient: the sum of passes without reduction, or a placeholder that no operation can read. So a tensor without a
 * gradient is one whose gradient the program has dropped, by {@code zero_grad(true)}. Confined to the training thread.
 */
final class ModuleGradients implements UnreducedGradients {
    private final List<String> names;
    private final List<Tensor> modules;
    private final int[] trained;
    /** The identities of the rows, by number of the parameter. */
    private final long[] rows;

    private final List<Tensor> placeholders = new ArrayList<>();
    /** The type of {@link #sums}; null if {@code .grad} itself adds up the gradients, because it has enough bits. */
    private final torch.@Nullable ScalarType sumType;

    private final @Nullable Tensor[] sums;
    private final long placeholderStorage;
    private boolean hasPlaceholders;

    /**
     * Gradients of a unit that has computed none. Made inside of a {@code PointerScope}.
     *
     * @param names of the parameters, for messages
     * @param shards the rows of the parameters
     * @param trained the numbers of the parameters that need a gradient
     * @param reduceType the type in which gradients are reduced
     */
    ModuleGradients(
            List<String> names, List<Tensor> modules, List<Tensor> shards, int[] trained, torch.ScalarType reduceType) {
        this.names = List.copyOf(names);
        this.modules = List.copyOf(modules);
        this.trained = trained.clone();
        rows = shards.stream().mapToLong(TensorMemory::identity).toArray();
        Tensor first = modules.getFirst();
        torch.ScalarType type = first.scalar_type().intern();
        sumType = torch.elementSize(reduceType) > torch.elementSize(type) ? reduceType : null;
        sums = new Tensor[modules.size()];
        Tensor moved = UnreadableTensor.of(
                TensorMemory.device(first),
                type,
                "the gradients of the parameters " + names + " are those of the rows that each rank keeps. Give the"
                        + " optimizer the tensors of FullyShardedDataParallel.parameters(), not model.parameters(). Call"
                        + " step.backward(loss) in place of loss.backward(). Drop gradients by"
                        + " optimizer.zeroGradients() or model.zero_grad(true), not zero_grad(false).");
        placeholderStorage = storage(moved);
        for (Tensor module : modules) {
            // No view, which zero_grad() could not detach, and not expanded, so that each write names the reason.
            Tensor placeholder = TensorMemory.own(TensorMemory.empty(TensorMemory.device(first), type, new long[] {0}));
            placeholder.set_data(moved);
            placeholder.unsafeGetTensorImpl().set_sizes_contiguous(TensorMemory.sizes(module));
            placeholders.add(placeholder);
        }
    }

    /** A pass computes gradients of the module's tensors from now on: removes the placeholders. */
    void removePlaceholders() {
        if (hasPlaceholders) {
            hasPlaceholders = false;
            for (int i : trained) {
                Tensor gradient = modules.get(i).mutable_grad();
                if (isPlaceholder(gradient)) {
                    gradient.reset();
                }
            }
        }
    }

    /** A pass has ended: each trained tensor without a gradient gets a placeholder. */
    void setPlaceholders() {
        hasPlaceholders = true;
        for (int i : trained) {
            Tensor gradient = modules.get(i).mutable_grad();
            if (!gradient.defined()) {
                gradient.put(placeholders.get(i));
            }
        }
    }

    /**
     * The numbers of the parameters whose gradients the program has dropped since the last {@link #takeDropped}, by
     * {@code zero_grad(true)} of the module.
     */
    int[] dropped() {
        return hasPlaceholders
                ? Arrays.stream(trained)
                        .filter(i -> !modules.get(i).mutable_grad().defined())
                        .toArray()
                : new int[0];
    }

    /** The rows of the {@link #dropped} gradients, which get placeholders. */
    Set<Long> takeDropped() {
        Set<Long> taken = new HashSet<>();
        for (int i : dropped()) {
            modules.get(i).mutable_grad().put(placeholders.get(i));
            dropSum(i);
            taken.add(rows[i]);
        }
        return taken;
    }

    @Override
    public void drop(Set<Long> parameters) {
        for (int i : trained) {
            if (!parameters.contains(rows[i])) {
                continue;
            }
            Tensor gradient = modules.get(i).mutable_grad();
            if (isPresent(i, gradient)) {
                dropSum(i);
                if (hasPlaceholders) {
                    gradient.put(placeholders.get(i));
                } else {
                    gradient.reset();
                }
            }
        }
    }

    private void dropSum(int parameter) {
        Tensor sum = sums[parameter];
        if (sum != null) {
            sum.close();
            sums[parameter] = null;
        }
    }

    /** A pass without reduction has ended: adds gradients of fewer bits to sums of the type of the reduction, as torch. */
    void widen() {
        if (sumType == null) {
            return;
        }
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (int i : trained) {
                Tensor gradient = modules.get(i).mutable_grad();
                if (isReal(gradient)) {
                    TensorMemory.requireDense(names.get(i), gradient);
                    Tensor sum = sums[i];
                    if (sum == null) {
                        sums[i] = TensorMemory.own(gradient.to(sumType).contiguous());
                    } else {
                        sum.add_(gradient);
                    }
                    gradient.reset();
                }
            }
        }
    }

    /** Whether a pass has left a gradient. */
    boolean isPresent() {
        return Arrays.stream(trained).anyMatch(i -> isPresent(i, modules.get(i).mutable_grad()));
    }

    /**
     * Takes the gradient of a parameter away from the module, in the caller's {@code PointerScope}; null if there is
     * none.
     *
     * @param type of the result
     * @return all elements in one dimension
     */
    @Nullable
    Tensor take(int parameter, torch.ScalarType type) {
        Tensor gradient = modules.get(parameter).mutable_grad();
        @Nullable Tensor taken = null;
        if (isReal(gradient)) {
            TensorMemory.requireDense(names.get(parameter), gradient);
            taken = gradient.to(type).contiguous().view(-1);
            gradient.reset();
        }
        Tensor sum = sums[parameter];
        if (sum != null) {
            Tensor flat = sum.view(-1);
            taken = taken == null ? flat : flat.add_(taken);
            dropSum(parameter);
        }
        return taken;
    }

    private boolean isPresent(int parameter, Tensor gradient) {
        return sums[parameter] != null || isReal(gradient);
    }

    private boolean isReal(Tensor gradient) {
        return gradient.defined() && !isPlaceholder(gradient);
    }

    /** Compares storages, because {@code zero_grad(false)} detaches a gradient before it fails. */
    private boolean isPlaceholder(Tensor gradient) {
        return gradient.defined() && isStrided(gradient) && storage(gradient) == placeholderStorage;
    }

    /** Other gradients have no storage. */
    private static boolean isStrided(Tensor gradient) {
        return gradient.layout().intern() == torch.Layout.Strided;
    }

    private static long storage(Tensor tensor) {
        return tensor.unsafeGetTensorImpl().storage().unsafeGetStorageImpl().address();
    }
}
