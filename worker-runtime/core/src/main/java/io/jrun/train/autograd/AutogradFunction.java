package io.jrun.train.autograd;

import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A differentiable operation written in Java, as {@code torch.autograd.Function} is one in Python.
 * {@link AutogradBridge#apply} runs it. One object may serve many calls: the state of a call belongs in its
 * {@link FunctionContext}.
 *
 * <p>Both methods run with gradients disabled. A backward method is therefore not differentiable itself. All tensors
 * that a method creates are freed when the method returns, except its results and the saved tensors.
 */
public interface AutogradFunction {
    /**
     * Computes the outputs.
     *
     * @param inputs the inputs without their history; the method must not write to the inputs
     * @return the outputs. Only outputs of floating point or complex type get gradients.
     */
    List<Tensor> forward(FunctionContext context, List<Tensor> inputs);

    /**
     * Computes the gradients of the inputs. The engine calls the method on the thread of the backward pass, or on a
     * thread of its own. If no output has a gradient, the engine does not call the method, and no input gets a gradient
     * from this call.
     *
     * @param gradients the gradient of each output; null where the output did not contribute to the root of the
     *     backward pass
     * @return the gradient of each input: of the shape and type of the input, or null for no gradient. The gradient of
     *     an input that does not require one is ignored.
     */
    List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients);

    /** The name in error messages. */
    default String name() {
        return getClass().getSimpleName();
    }
}
