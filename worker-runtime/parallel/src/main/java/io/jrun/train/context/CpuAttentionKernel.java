package io.jrun.train.context;

import io.jrun.train.tensor.AtenOperator;
import java.util.List;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.Tensor;

/**
 * libtorch's attention on the CPU, for float32 and float64. The presets have no method for these operators; the
 * dispatcher finds them by name. Stateless.
 */
final class CpuAttentionKernel implements AttentionKernel {
    private static final AtenOperator FORWARD =
            AtenOperator.of("aten::_scaled_dot_product_flash_attention_for_cpu", "");
    private static final AtenOperator BACKWARD =
            AtenOperator.of("aten::_scaled_dot_product_flash_attention_for_cpu_backward", "");

    @Override
    public Result forward(Tensor queries, Tensor keys, Tensor values, boolean isCausal) {
        List<Tensor> results = FORWARD.results(
                2,
                new IValue(queries),
                new IValue(keys),
                new IValue(values),
                new IValue(0.0),
                new IValue(isCausal),
                new IValue(),
                new IValue());
        return new Result(results.get(0), results.get(1));
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
        List<Tensor> results = BACKWARD.results(
                3,
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
        return new Gradients(results.get(0), results.get(1), results.get(2));
    }
}
