package io.jrun.train.context;

import io.jrun.train.context.AttentionKernel.Gradients;
import io.jrun.train.context.AttentionKernel.Result;
import io.jrun.train.context.SequenceSplit.Block;
import io.jrun.train.layer.AttentionOperation;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Attention of one rank's queries [B, H, S, E], block by block of the keys. Results of blocks are merged by the
 * logarithms of their sums, in float32 or float64 (Milakov and Gimelshein 2018, arXiv 1805.02867), also where the kernel
 * computes in fewer bits. Keys and values come as one tensor [2, B, G, S, E] of any type; each key serves H / G
 * neighbouring query heads.
 */
final class BlockAttention {
    private final AttentionKernel kernel;
    private final Tensor queries;
    private final Tensor output;
    private final Tensor logSums;

    private BlockAttention(AttentionKernel kernel, Tensor queries, Tensor output, Tensor logSums) {
        this.kernel = kernel;
        this.queries = queries;
        this.output = output;
        this.logSums = logSums;
    }

    /** Attention without any key yet. */
    static BlockAttention begin(Tensor queries) {
        return begin(AttentionKernel.of(queries), queries);
    }

    /** Attention by a kernel, without any key yet. */
    static BlockAttention begin(AttentionKernel kernel, Tensor queries) {
        TensorOptions options = DeviceTensors.optionsLike(queries, AttentionKernel.wideType(queries));
        long[] rows = {queries.size(0), queries.size(1), queries.size(2)};
        return new BlockAttention(
                kernel,
                kernel.operand(queries),
                torch.zeros(TensorMemory.sizes(queries), options),
                torch.full(rows, new Scalar(Double.NEGATIVE_INFINITY), options));
    }

    /** Attention with all keys, for the backward pass. */
    static BlockAttention ended(Tensor queries, Tensor output, Tensor logSums) {
        return ended(AttentionKernel.of(queries), queries, output, logSums);
    }

    /** Attention with all keys by a kernel. */
    static BlockAttention ended(AttentionKernel kernel, Tensor queries, Tensor output, Tensor logSums) {
        return new BlockAttention(kernel, kernel.operand(queries), kernel.operand(output), logSums);
    }

    /** A tensor in the type that the kernel takes. */
    Tensor operand(Tensor x) {
        return kernel.operand(x);
    }

    Tensor output() {
        return output;
    }

    Tensor logSums() {
        return logSums;
    }

    /** Zeros of the shape of a tensor, of the type in which this attention adds. */
    Tensor zerosLike(Tensor tensor) {
        return torch.zeros(TensorMemory.sizes(tensor), logSums.options());
    }

    /** Adds keys and values. */
    void add(Tensor keysValues, List<Block> blocks) {
        for (Block block : blocks) {
            Result result = kernel.forward(
                    rows(queries, block),
                    keys(keysValues.select(0, 0), block),
                    keys(keysValues.select(0, 1), block),
                    block.isCausal());
            merge(rows(output, block), logSums.narrow(2, block.queryOffset(), block.queries()), result);
        }
    }

    /**
     * {@code out -= sigmoid(b - a) (out - new)} where a is the logarithm of the sum so far, and b the logarithm of the
     * sum of the new keys.
     */
    private static void merge(Tensor output, Tensor logSums, Result added) {
        Tensor share = torch.sigmoid(added.logSums().sub(logSums)).unsqueeze(-1);
        output.sub_(share.mul(output.sub(added.output())));
        logSums.copy_(torch.logaddexp(logSums, added.logSums()));
    }

    /**
     * Adds the gradients of keys and values, and of the queries.
     *
     * @param gradient the gradient of the output, of the type of {@link #operand}
     */
    void addGradients(
            Tensor gradient, Tensor keysValues, List<Block> blocks, Tensor queriesGradient, Tensor keysValuesGradient) {
        for (Block block : blocks) {
            Gradients part = kernel.backward(
                    rows(gradient, block),
                    rows(queries, block),
                    keys(keysValues.select(0, 0), block),
                    keys(keysValues.select(0, 1), block),
                    rows(output, block),
                    logSums.narrow(2, block.queryOffset(), block.queries()),
                    block.isCausal());
            rows(queriesGradient, block).add_(part.queries());
            keyRows(keysValuesGradient.select(0, 0), block).add_(perKeyHead(part.keys(), keysValues));
            keyRows(keysValuesGradient.select(0, 1), block).add_(perKeyHead(part.values(), keysValues));
        }
    }

    private static Tensor rows(Tensor x_BHSE, Block block) {
        return x_BHSE.narrow(2, block.queryOffset(), block.queries());
    }

    private static Tensor keyRows(Tensor x_BGSE, Block block) {
        return x_BGSE.narrow(2, block.keyOffset(), block.keys());
    }

    private Tensor keys(Tensor x_BGSE, Block block) {
        return AttentionOperation.repeatHeads(kernel.operand(keyRows(x_BGSE, block)), queries.size(1) / x_BGSE.size(1));
    }

    /** The sum over the query heads that share a key head. */
    private static Tensor perKeyHead(Tensor x_BHSE, Tensor keysValues) {
        long keyHeads = keysValues.size(2);
        return AttentionKernel.wide(x_BHSE)
                .reshape(x_BHSE.size(0), keyHeads, x_BHSE.size(1) / keyHeads, x_BHSE.size(2), x_BHSE.size(3))
                .sum(2);
    }
}
