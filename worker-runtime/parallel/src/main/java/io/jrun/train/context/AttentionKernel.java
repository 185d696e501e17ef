package io.jrun.train.context;

import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Tensor;

/**
 * libtorch's attention on the CPU with the logarithm of the sum of exponentials of each row, and its backward pass. The
 * presets have no method for these operators; the dispatcher finds them by name. Types: float32 and float64. Queries
 * and keys have equally many heads.
 */
final class AttentionKernel {
    private static final OperatorHandle FORWARD = operator("aten::_scaled_dot_product_flash_attention_for_cpu");
    private static final OperatorHandle BACKWARD =
            operator("aten::_scaled_dot_product_flash_attention_for_cpu_backward");

    private AttentionKernel() {}

    /** Outputs [B, H, S, E] and the logarithms [B, H, S] of the sums. */
    record Result(Tensor output, Tensor logSums) {}

    /** Gradients of the operands. */
    record Gradients(Tensor queries, Tensor keys, Tensor values) {}

    private static OperatorHandle operator(String name) {
        OperatorHandle handle = Dispatcher.singleton().findSchemaOrThrow(name, "");
        handle.retainReference();
        return handle;
    }

    static Result forward(Tensor queries, Tensor keys, Tensor values, boolean isCausal) {
        IValueVector stack = new IValueVector(
                new IValue(queries),
                new IValue(keys),
                new IValue(values),
                new IValue(0.0),
                new IValue(isCausal),
                new IValue(),
                new IValue());
        FORWARD.callBoxed(stack);
        return new Result(stack.get(0).toTensor(), stack.get(1).toTensor());
    }

    /**
     * The gradients of one block of a larger attention: the arguments are the output and the logarithms of the sums of
     * whole rows, so the probabilities of the block equal those of the whole attention.
     */
    static Gradients backward(
            Tensor gradient,
            Tensor queries,
            Tensor keys,
            Tensor values,
            Tensor output,
            Tensor logSums,
            boolean isCausal) {
        IValueVector stack = new IValueVector(
                new IValue(gradient),
                new IValue(queries),
                new IValue(keys),
                new IValue(values),
                new IValue(output),
                new IValue(logSums),
                new IValue(0.0),
                new IValue(isCausal),
                new IValue(),
                new IValue());
        BACKWARD.callBoxed(stack);
        return new Gradients(
                stack.get(0).toTensor(), stack.get(1).toTensor(), stack.get(2).toTensor());
    }
}
