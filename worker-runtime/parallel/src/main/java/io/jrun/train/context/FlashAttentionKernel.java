package io.jrun.train.context;

import io.jrun.comm.Device;
import io.jrun.train.device.ComputeCapability;
import io.jrun.train.tensor.AtenOperator;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * libtorch's flash attention on CUDA devices, for float16 and bfloat16 (Dao 2023, arXiv 2307.08691). The logarithms of
 * the sums are of float32. The causal mask begins at the bottom right corner, which is the top left corner here: only
 * square blocks are causal. The order in which the backward operator adds the gradients of the queries differs between
 * calls. Both operators take [B, S, H, E]. Source of the forms: the operators' schemas, and {@code flash_api.cpp} of
 * PyTorch. Stateless.
 */
final class FlashAttentionKernel implements AttentionKernel {
    private static final long LARGEST_HEAD = 256;
    private static final long HEAD_MULTIPLE = 8;

    private final torch.ScalarType type;

    /** @param type of the operands, float16 or bfloat16 */
    FlashAttentionKernel(torch.ScalarType type) {
        this.type = type;
    }

    /** Whether the kernel takes queries [B, H, S, E] on their CUDA device. */
    static boolean takes(Tensor queries) {
        return takes(queries.scalar_type().intern(), queries.size(3)) && runsOn(TensorMemory.device(queries));
    }

    /** Whether the kernel takes operands of a type with heads of a size. */
    static boolean takes(torch.ScalarType type, long headSize) {
        boolean isHalf = type == torch.ScalarType.Half || type == torch.ScalarType.BFloat16;
        return isHalf && headSize % HEAD_MULTIPLE == 0 && headSize <= LARGEST_HEAD;
    }

    /** A card of which the driver says nothing is taken to be a newer one. libtorch refuses an older one itself. */
    private static boolean runsOn(Device device) {
        return ComputeCapability.of(device)
                .map(ComputeCapability::hasFlashAttention)
                .orElse(true);
    }

    @Override
    public Tensor operand(Tensor x) {
        return x.to(type);
    }

    @Override
    public Result forward(Tensor queries, Tensor keys, Tensor values, boolean isCausal) {
        boolean givesMask = false;
        List<Tensor> results = Operators.FORWARD.results(
                2,
                new IValue(queries.transpose(1, 2)),
                new IValue(keys.transpose(1, 2)),
                new IValue(values.transpose(1, 2)),
                new IValue(), // cum_seq_q
                new IValue(), // cum_seq_k
                new IValue(queries.size(2)),
                new IValue(keys.size(2)),
                new IValue(0.0), // dropout_p
                new IValue(isCausal),
                new IValue(givesMask),
                new IValue(), // scale
                new IValue(), // window_size_left
                new IValue(), // window_size_right
                new IValue(), // seqused_k
                new IValue()); // alibi_slopes
        return new Result(results.get(0).transpose(1, 2), results.get(1));
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
        Tensor randomState = torch.zeros(new long[] {2}, DeviceTensors.optionsLike(queries, torch.ScalarType.Long));
        List<Tensor> results = Operators.BACKWARD.results(
                3,
                new IValue(gradient.transpose(1, 2)),
                new IValue(queries.transpose(1, 2)),
                new IValue(keys.transpose(1, 2)),
                new IValue(values.transpose(1, 2)),
                new IValue(output.transpose(1, 2)),
                new IValue(logSums.contiguous()), // the kernel reads no strides
                new IValue(new Tensor()), // cum_seq_q: undefined for sequences of equal lengths
                new IValue(new Tensor()), // cum_seq_k
                new IValue(queries.size(2)),
                new IValue(keys.size(2)),
                new IValue(0.0), // dropout_p
                new IValue(isCausal),
                new IValue(randomState),
                new IValue(randomState), // unused
                new IValue(), // scale
                new IValue(), // window_size_left
                new IValue()); // window_size_right
        return new Gradients(
                results.get(0).transpose(1, 2),
                results.get(1).transpose(1, 2),
                results.get(2).transpose(1, 2));
    }

    /** Found when libtorch is loaded. */
    private static final class Operators {
        static final AtenOperator FORWARD = AtenOperator.of("aten::_flash_attention_forward", "");
        static final AtenOperator BACKWARD = AtenOperator.of("aten::_flash_attention_backward", "");

        private Operators() {}
    }
}
