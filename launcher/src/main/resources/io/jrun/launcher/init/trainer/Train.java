package com.example;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.trainer.Trainer;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** A language model of bytes. The trainer gives the program its options: see --help. */
public final class Train extends LayeredModel {
    static final int WIDTH = 64;
    static final int SEEN = 5; // tokens that a block sees

    public Train(ModelSetup setup) {
        super(setup);
        first("embedding", () -> new EmbeddingImpl(setup.vocabulary(), WIDTH), EmbeddingImpl::forward);
        for (int i = 0; i < 4; i++) {
            block(Block::new, Block::forward);
        }
        last("head", () -> new LinearImpl(WIDTH, setup.vocabulary()), LinearImpl::forward);
    }

    /** Each position sees itself and the positions before. */
    static final class Block extends CompositeModule {
        final LinearImpl mix = add("mix", new LinearImpl(SEEN * WIDTH, WIDTH));
        final LinearImpl out = add("out", new LinearImpl(WIDTH, WIDTH));

        Tensor forward(Tensor x) {
            TensorVector shifted = new TensorVector();
            for (long back = 0; back < SEEN; back++) {
                shifted.push_back(torch.constant_pad_nd(x, 0, 0, back, -back));
            }
            return x.add(out.forward(torch.gelu(mix.forward(torch.cat(shifted, 2)))));
        }
    }

    public static void main(String[] args) {
        Trainer.main("@name@.jar", args, Train::new);
    }
}
