package io.jrun.examples.own;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.trainer.Trainer;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LayerNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * A language model of libtorch's own layers: causal convolutions. The ranks can share its data, its states (--shard,
 * --zero) and its layers as stages (--pp).
 */
public final class ConvolutionModel extends LayeredModel {
    private static final int WIDTH = 64;
    private static final int KERNEL = 5;
    private static final int BLOCKS = 4;
    private static final LongVector WIDTHS = new LongVector(new long[] {WIDTH});

    /** The model of a setup; its layers are built later. */
    public ConvolutionModel(ModelSetup setup) {
        super(setup);
        first("embedding", () -> new EmbeddingImpl(setup.vocabulary(), WIDTH), EmbeddingImpl::forward);
        for (int i = 0; i < BLOCKS; i++) {
            block(Block::new, Block::forward);
        }
        last("head", () -> new LinearImpl(WIDTH, setup.vocabulary()), LinearImpl::forward);
    }

    /** Trains the model on all ranks. */
    public static void main(String[] args) {
        Trainer.main("own-model.jar", args, ConvolutionModel::new);
    }

    private static final class Block extends CompositeModule {
        private final LayerNormImpl norm = add("norm", new LayerNormImpl(new LayerNormOptions(WIDTHS)));
        private final LinearImpl mix = add("mix", new LinearImpl(KERNEL * WIDTH, WIDTH));
        private final LinearImpl out = add("out", new LinearImpl(WIDTH, WIDTH));

        /** Each position sees itself and the positions before. */
        Tensor forward(Tensor x_BSD) {
            Tensor normed = norm.forward(x_BSD);
            TensorVector shifted = new TensorVector();
            for (long back = 0; back < KERNEL; back++) {
                shifted.push_back(torch.constant_pad_nd(normed, 0, 0, back, -back));
            }
            return x_BSD.add(out.forward(torch.gelu(mix.forward(torch.cat(shifted, 2)))));
        }
    }
}
