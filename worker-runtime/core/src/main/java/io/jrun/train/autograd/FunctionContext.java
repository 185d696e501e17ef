package io.jrun.train.autograd;

import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.bytedeco.pytorch.Tensor;

/**
 * The state of one call of an {@link AutogradFunction}: the forward method saves tensors for the backward method. A
 * backward pass that does not retain the graph frees the saved tensors. Else the tensors are freed with the graph.
 * Thread-safe: for tensors on a device the backward method runs on libtorch's thread for the device.
 */
public final class FunctionContext {
    private record SavedTensor(Tensor tensor, long version) {}

    private final String function;
    private final BitSet needed = new BitSet();
    private final List<SavedTensor> saved = new ArrayList<>();
    private final Set<Long> nonDifferentiable = new HashSet<>();
    private boolean isFreed;

    FunctionContext(String function, List<Tensor> inputs) {
        this.function = function;
        for (int i = 0; i < inputs.size(); i++) {
            needed.set(i, inputs.get(i).requires_grad());
        }
    }

    /** Whether an input requires a gradient; the backward method may return null for any other input. */
    public boolean needsGradient(int input) {
        return needed.get(input);
    }

    /**
     * Keeps tensors for the backward method, after the tensors of earlier calls. The tensors may be inputs, outputs or
     * other tensors. The elements are not copied and must not change before the backward pass.
     */
    public synchronized void save(Tensor... tensors) {
        for (Tensor tensor : tensors) {
            // The copy has no history: an output that is saved with its history would keep its own graph alive for
            // ever.
            try (Tensor detached = tensor.detach()) {
                saved.add(new SavedTensor(TensorMemory.own(detached), detached._version()));
            }
        }
    }

    /** The number of tensors that {@link #save} has kept. */
    public synchronized int savedCount() {
        return saved.size();
    }

    /**
     * A saved tensor.
     *
     * @param index the place in the order of {@link #save}
     * @throws IllegalStateException if an earlier backward pass has freed the tensor, or if its elements were changed
     *     in place
     */
    public synchronized Tensor saved(int index) {
        if (isFreed) {
            throw new IllegalStateException("the tensors that " + function
                    + " saved are freed: a backward pass has run through this graph before."
                    + " Pass retain_graph = true to all"
                    + " backward passes but the last.");
        }
        SavedTensor wanted = saved.get(index);
        if (wanted.tensor()._version() != wanted.version()) {
            throw new IllegalStateException("tensor " + index + " of shape " + TensorMemory.shape(wanted.tensor())
                    + " that "
                    + function + " saved was changed in place before the backward pass. Save a clone of it, or change a"
                    + " clone.");
        }
        return wanted.tensor();
    }

    /** Marks outputs of the forward method that get no gradient and require no gradient. */
    public synchronized void markNonDifferentiable(Tensor... outputs) {
        for (Tensor output : outputs) {
            nonDifferentiable.add(TensorMemory.identity(output));
        }
    }

    /** The tensors that {@link #save} has kept and that are not freed. */
    synchronized List<Tensor> savedTensors() {
        return saved.stream().map(SavedTensor::tensor).toList();
    }

    synchronized boolean isDifferentiable(Tensor output) {
        return (output.is_floating_point() || output.is_complex())
                && !nonDifferentiable.contains(TensorMemory.identity(output));
    }

    /** Frees the saved tensors. */
    synchronized void free() {
        isFreed = true;
        saved.forEach(tensor -> tensor.tensor().close());
        saved.clear();
    }
}
