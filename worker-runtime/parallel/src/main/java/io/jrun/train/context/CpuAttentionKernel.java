package io.jrun.train.context;

import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Tensor;

/**
 * libtorch's attention on the CPU, for float32 and float64. The presets have no method for these operators; the
 * dispatcher finds them by name. Stateless.
 */
final class CpuAttentionKernel implements AttentionKernel {
    private static final OperatorHandle FORWARD =
            AttentionKernel.operator("aten::_scaled_dot_product_flash_attention_for_cpu");
    private static final OperatorHandle BACKWARD =
            AttentionKernel.operator("aten::_scaled_dot_product_flash_attention_for_cpu_backward");

    @Override
    public Result forward(Tensor queries, Tensor keys, Tensor values, boolean isCausal) {
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

    @Override
    public Gradients backward(
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
