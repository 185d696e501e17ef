package io.jrun.train.fsdp;

import io.jrun.train.mesh.UnreducedGradients;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.UnreadableTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The gradients of the module's tensors of one unit, until their reduction. Between two passes each trained tensor has a
 * gradient: the sum of passes without reduction, or a placeholder that no operation can read. So a tensor without a
 * gradient is one whose gradient the program has dropped, by {@code zero_grad(true)}. Confined to the training thread.
 */
final class ModuleGradients implements UnreducedGradients {
    private final List<Tensor> modules;
    private final int[] trained;
    /** The identities of the rows, by number of the parameter. */
    private final long[] rows;

    private final List<Tensor> placeholders = new ArrayList<>();
    private boolean hasPlaceholders;

    /**
     * Gradients of a unit that has computed none. Made inside of a {@code PointerScope}.
     *
     * @param names of the parameters, for messages
     * @param shards the rows of the parameters
     * @param trained the numbers of the parameters that need a gradient
     */
    ModuleGradients(List<String> names, List<Tensor> modules, List<Tensor> shards, int[] trained) {
        this.modules = List.copyOf(modules);
        this.trained = trained.clone();
        rows = shards.stream().mapToLong(TensorMemory::identity).toArray();
        Tensor first = modules.getFirst();
        torch.ScalarType type = first.scalar_type().intern();
        Tensor moved = UnreadableTensor.of(
                TensorMemory.device(first),
                type,
                "the gradients of the parameters " + names + " are those of the rows that each rank keeps. Give the"
                        + " optimizer the tensors of FullyShardedDataParallel.parameters(), not model.parameters(). Call"
                        + " step.backward(loss) in place of loss.backward(). Drop gradients by"
                        + " optimizer.zeroGradients() or model.zero_grad(true), not zero_grad(false).");
        for (Tensor module : modules) {
            // No view, which zero_grad() could not detach, and not expanded, so that each write names the reason.
            Tensor placeholder = TensorMemory.own(TensorMemory.empty(TensorMemory.device(first), type, new long[] {0}));
            placeholder.set_data(moved);
            placeholder.unsafeGetTensorImpl().set_sizes_contiguous(TensorMemory.sizes(module));
            placeholders.add(placeholder);
        }
    }

    /** A pass computes gradients of the module's tensors from now on: removes the placeholders. */
    void await() {
        if (hasPlaceholders) {
            hasPlaceholders = false;
            for (int i : trained) {
                Tensor gradient = modules.get(i).mutable_grad();
                if (isPlaceholder(i, gradient)) {
                    gradient.reset();
                }
            }
        }
    }

    /** A pass has ended: each trained tensor without a gradient gets a placeholder. */
    void detach() {
        hasPlaceholders = true;
        for (int i : trained) {
            Tensor gradient = modules.get(i).mutable_grad();
            if (!gradient.defined()) {
                gradient.put(placeholders.get(i));
            }
        }
    }

    /** The rows whose gradients the program has dropped since the last call, by {@code zero_grad(true)} of the module. */
    Set<Long> takeDropped() {
        Set<Long> dropped = new HashSet<>();
        if (hasPlaceholders) {
            for (int i : trained) {
                Tensor gradient = modules.get(i).mutable_grad();
                if (!gradient.defined()) {
                    gradient.put(placeholders.get(i));
                    dropped.add(rows[i]);
                }
            }
        }
        return dropped;
    }

    @Override
    public void drop(Set<Long> parameters) {
        for (int i : trained) {
            Tensor gradient = modules.get(i).mutable_grad();
            if (parameters.contains(rows[i]) && isPresent(i, gradient)) {
                if (hasPlaceholders) {
                    gradient.put(placeholders.get(i));
                } else {
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
        if (!isPresent(parameter, gradient)) {
            return null;
        }
        Tensor taken = gradient.to(type).contiguous().view(-1);
        gradient.reset();
        return taken;
    }

    private boolean isPresent(int parameter, Tensor gradient) {
        return gradient.defined() && !isPlaceholder(parameter, gradient);
    }

    private boolean isPlaceholder(int parameter, Tensor gradient) {
        return gradient.defined() && gradient.is_alias_of(placeholders.get(parameter)); // zero_grad(false) detaches
    }
}
