package io.jrun.train.autograd;

import java.util.List;
import java.util.function.IntConsumer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The functions of libtorch's autograd engine that parallel training needs and that the presets do not map. */
public interface AutogradBridge {
    /** The implementation for the libtorch of this class path. */
    static AutogradBridge instance() {
        return NodeBridge.INSTANCE;
    }

    /**
     * Calls {@code accumulated} with the index of a leaf each time a backward pass has added to the {@code .grad} of
     * the leaf: torch's post-accumulate-grad hook. The call runs before {@code backward} returns: for a leaf on the CPU
     * on the thread that runs the backward pass, for a leaf on another device on libtorch's thread for this device.
     * {@link #backward} rethrows the exception of the call. Tensors that the call makes are freed when it returns,
     * except those that it keeps by {@code TensorMemory.own} or {@code retainReference}.
     *
     * @param leaves tensors that require a gradient and have no history; the returned object keeps the tensors alive
     */
    LeafHooks watch(List<Tensor> leaves, IntConsumer accumulated);

    /**
     * Runs the forward method of {@code function} and records the call in the autograd graph, so that a backward pass
     * through the outputs runs the backward method. The call is not recorded if no input requires a gradient or if
     * gradients are disabled on this thread ({@code NoGradGuard}).
     *
     * @return the outputs of the forward method, in its order. The outputs belong to the innermost {@code PointerScope}
     *     of this thread, like results of torch's own operations.
     */
    List<Tensor> apply(AutogradFunction function, List<Tensor> inputs);

    /**
     * Runs a backward pass.
     *
     * @param roots the tensors to start from
     * @param gradients the gradient of each root; empty if each root has one element and its gradient is 1
     * @throws RuntimeException the exception object that a hook or a backward method in Java threw. (A direct call of
     *     {@code Tensor.backward} throws an exception that has only the text.)
     */
    void backward(List<Tensor> roots, List<Tensor> gradients);

    /**
     * Runs a backward pass that adds to no {@code .grad}: torch's {@code autograd.grad}. Hooks of {@link #watch} do not
     * run. The pass frees the graph.
     *
     * @param roots the tensors to start from
     * @param gradients the gradient of each root
     * @param inputs leaves that require a gradient
     * @return the gradient of each input, in the innermost {@code PointerScope}; null where no root depends on the
     *     input
     * @throws RuntimeException as {@link #backward}
     */
    List<@Nullable Tensor> gradients(List<Tensor> roots, List<Tensor> gradients, List<Tensor> inputs);

    /**
     * Counts the leaves that require a gradient and that a backward pass from {@code roots} reaches, without
     * {@code known}.
     */
    int countOtherLeaves(List<Tensor> roots, List<Tensor> known);
}
