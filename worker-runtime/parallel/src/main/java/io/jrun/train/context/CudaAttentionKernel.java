package io.jrun.train.context;

import io.jrun.train.tensor.AtenOperator;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * libtorch's memory-efficient attention on CUDA devices, for float32: memory grows with the rows, not with their square.
 * libtorch's kernel has no float64. The order in which the backward operator adds the gradients of the queries differs
 * between calls, because it divides the keys among thread blocks: num_splits_key is not given.
 * The forward operator takes [B, H, S, E], the backward operator [B, S, H, E].
 * Source of the forms: the operators' schemas, and {@code attention.cu} of PyTorch. Stateless.
 */
final class CudaAttentionKernel implements AttentionKernel {
    /** The kernel reads 16 bytes of a head at a time. */
    static final int HEAD_MULTIPLE = 4;

    /** The kernel writes and reads the logarithms of this many rows at a time. */
    private static final long ROW_MULTIPLE = 32;

    /** CustomMaskType of PyTorch's {@code kernel_forward.h}. */
    private static final long WITHOUT_MASK = 0;

    private static final long CAUSAL_FROM_TOP_LEFT = 1;

    private static final AtenOperator FORWARD = AtenOperator.of("aten::_scaled_dot_product_efficient_attention", "");
    private static final AtenOperator BACKWARD = AtenOperator.of("aten::_efficient_attention_backward", "");

    @Override
    public Result forward(Tensor queries, Tensor keys, Tensor values, boolean isCausal) {
        boolean givesLogSums = true;
        List<Tensor> results = FORWARD.results(
                2,
                new IValue(queries),
                new IValue(keys),
                new IValue(values),
                new IValue(), // attn_bias
                new IValue(givesLogSums),
                new IValue(0.0), // dropout_p
                new IValue(isCausal),
                new IValue()); // scale
        return new Result(results.get(0), results.get(1).narrow(2, 0, queries.size(2)));
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
        // Without dropout the kernel reads no state of the random numbers.
        TensorOptions longs = DeviceTensors.optionsLike(queries, torch.ScalarType.Long);
        boolean needsBias = false;
        boolean sharesGradients = false;
        List<Tensor> results = BACKWARD.results(
                3,
                new IValue(gradient.transpose(1, 2)),
                new IValue(queries.transpose(1, 2)),
                new IValue(keys.transpose(1, 2)),
                new IValue(values.transpose(1, 2)),
                new IValue(), // bias
                new IValue(output.transpose(1, 2)),
                new IValue(), // cu_seqlens_q
                new IValue(), // cu_seqlens_k
                new IValue(queries.size(2)),
                new IValue(keys.size(2)),
                new IValue(padded(logSums)),
                new IValue(0.0), // dropout_p
                new IValue(torch.zeros(new long[0], longs)),
                new IValue(torch.zeros(new long[0], longs)),
                new IValue(isCausal ? CAUSAL_FROM_TOP_LEFT : WITHOUT_MASK),
                new IValue(needsBias),
                new IValue(), // scale
                new IValue(), // num_splits_key
                new IValue(), // window_size
                new IValue(sharesGradients));
        return new Gradients(
                results.get(0).transpose(1, 2),
                results.get(1).transpose(1, 2),
                results.get(2).transpose(1, 2));
    }

    /** The logarithms with infinity for the rows up to a multiple: the probabilities of these rows are 0. */
    private static Tensor padded(Tensor logSums) {
        long[] sizes = TensorMemory.sizes(logSums);
        long rows = sizes[2];
        sizes[2] = Math.ceilDiv(rows, ROW_MULTIPLE) * ROW_MULTIPLE;
        Tensor padded = torch.full(sizes, new Scalar(Double.POSITIVE_INFINITY), logSums.options());
        padded.narrow(2, 0, rows).copy_(logSums);
        return padded;
    }
}
