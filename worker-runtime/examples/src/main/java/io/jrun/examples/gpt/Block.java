package io.jrun.examples.gpt;

import io.jrun.train.precision.ScaledAttention;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LayerNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * One transformer block: causal attention and a feed-forward layer, each behind a layer norm and beside a residual path.
 * Shapes: B batch, S sequence, D width.
 */
final class Block extends Module {
    private final int heads;
    private final LayerNormImpl attentionNorm;
    private final LinearImpl queriesKeysValues;
    private final LinearImpl projection;
    private final LayerNormImpl feedForwardNorm;
    private final LinearImpl up;
    private final LinearImpl down;

    Block(GptConfig config) {
        long width = config.width();
        heads = config.heads();
        attentionNorm = register_module("attentionNorm", norm(width));
        queriesKeysValues = register_module("queriesKeysValues", new LinearImpl(width, 3 * width));
        projection = register_module("projection", new LinearImpl(width, width));
        feedForwardNorm = register_module("feedForwardNorm", norm(width));
        up = register_module("up", new LinearImpl(width, 4 * width));
        down = register_module("down", new LinearImpl(4 * width, width));
    }

    /** The array constructor: {@code new LongVector(n)} would be n zeros. */
    static LayerNormImpl norm(long width) {
        return new LayerNormImpl(new LayerNormOptions(new LongVector(new long[] {width})));
    }

    Tensor forward(Tensor x_BSD) {
        Tensor x = x_BSD.add(attention(attentionNorm.forward(x_BSD)));
        return x.add(down.forward(torch.gelu(up.forward(feedForwardNorm.forward(x)))));
    }

    private Tensor attention(Tensor x_BSD) {
        long batch = x_BSD.size(0);
        long sequence = x_BSD.size(1);
        long width = x_BSD.size(2);
        Tensor perHead = queriesKeysValues
                .forward(x_BSD)
                .view(batch, sequence, 3, heads, width / heads)
                .permute(2, 0, 3, 1, 4);
        Tensor attended =
                ScaledAttention.apply(perHead.select(0, 0), perHead.select(0, 1), perHead.select(0, 2), 0.0, true);
        return projection.forward(attended.transpose(1, 2).reshape(batch, sequence, width));
    }
}
