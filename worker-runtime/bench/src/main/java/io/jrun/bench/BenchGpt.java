package io.jrun.bench;

import io.jrun.train.precision.ScaledAttention;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LayerNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The decoder of scripts/bench/peers/ddp_gloo.py, layer for layer: 3.7 million parameters, pre-norm blocks, learned
 * positions, untied head. Shapes: B batch, S sequence, D model width, V vocabulary.
 */
final class BenchGpt extends Module {
    static final long V = 1000;
    static final long S = 64;
    static final long D = 256;
    static final long HEADS = 4;
    static final long FF = 1024;
    static final int LAYERS = 4;

    private final EmbeddingImpl tokens = register_module("tok", new EmbeddingImpl(V, D));
    private final EmbeddingImpl positions = register_module("pos", new EmbeddingImpl(S, D));
    private final List<Block> blocks = new ArrayList<>();
    private final LayerNormImpl norm;
    private final LinearImpl head;
    private final Tensor positionIds_S;

    BenchGpt() {
        for (int layer = 0; layer < LAYERS; layer++) {
            blocks.add(register_module("block" + layer, new Block()));
        }
        norm = register_module("ln", layerNorm());
        head = register_module("head", new LinearImpl(D, V));
        positionIds_S = torch.arange(new Scalar(S), new TensorOptions(torch.ScalarType.Long));
    }

    /** Logits [B, S, V] of token ids [B, S]. */
    Tensor forward(Tensor ids_BS) {
        Tensor x_BSD = tokens.forward(ids_BS).add(positions.forward(positionIds_S));
        for (Block block : blocks) {
            x_BSD = block.forward(x_BSD);
        }
        return head.forward(norm.forward(x_BSD));
    }

    private static LayerNormImpl layerNorm() {
        return new LayerNormImpl(new LayerNormOptions(new LongVector(new long[] {D})));
    }

    private static final class Block extends Module {
        private final LayerNormImpl norm1 = register_module("n1", layerNorm());
        private final LayerNormImpl norm2 = register_module("n2", layerNorm());
        private final LinearImpl qkv = register_module("qkv", new LinearImpl(D, 3 * D));
        private final LinearImpl projection = register_module("proj", new LinearImpl(D, D));
        private final LinearImpl up = register_module("fc", new LinearImpl(D, FF));
        private final LinearImpl down = register_module("out", new LinearImpl(FF, D));

        Tensor forward(Tensor x_BSD) {
            long batch = x_BSD.size(0);
            Tensor qkv_3BHSd = qkv.forward(norm1.forward(x_BSD))
                    .view(batch, S, 3, HEADS, D / HEADS)
                    .permute(2, 0, 3, 1, 4);
            Tensor attended_BHSd = ScaledAttention.apply(
                    qkv_3BHSd.select(0, 0), qkv_3BHSd.select(0, 1), qkv_3BHSd.select(0, 2), 0, true);
            Tensor residual_BSD =
                    x_BSD.add(projection.forward(attended_BHSd.transpose(1, 2).reshape(batch, S, D)));
            return residual_BSD.add(down.forward(torch.gelu(up.forward(norm2.forward(residual_BSD)))));
        }
    }
}
