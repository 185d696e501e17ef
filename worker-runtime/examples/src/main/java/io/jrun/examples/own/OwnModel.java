package io.jrun.examples.own;

import io.jrun.comm.Device;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.FeedForward;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.SelfAttention;
import io.jrun.train.layer.TextEmbedding;
import io.jrun.train.layer.TextHead;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.trainer.Trainer;
import org.bytedeco.pytorch.Tensor;

/** Main class of own-model.jar: a transformer of one's own. The trainer gives it all options: see {@code --help}. */
public final class OwnModel extends LayeredModel {
    /** The model of a setup; its layers are built later. */
    public OwnModel(ModelSetup setup) {
        super(setup);
        transformer(4); // heads: ranks can share the layers and the sequences
        Device device = setup.device();
        first(
                "embedding",
                () -> new TextEmbedding(setup.vocabulary(), setup.context(), 64, device),
                TextEmbedding::forward);
        for (int i = 0; i < 4; i++) {
            block(() -> new Block(device), Block::forward);
        }
        last("head", () -> new TextHead(64, setup.vocabulary(), device), TextHead::forward);
    }

    private static final class Block extends CompositeModule {
        private final Norm norm1;
        private final SelfAttention attention;
        private final Norm norm2;
        private final FeedForward feedForward;

        Block(Device device) {
            norm1 = add("norm1", Norm.layer(64, 1e-5, device));
            attention = add("attention", new SelfAttention(64, 4, device));
            norm2 = add("norm2", Norm.layer(64, 1e-5, device));
            feedForward = add("feedForward", new FeedForward(64, 256, device));
        }

        Tensor forward(Tensor x) {
            Tensor y = x.add(attention.forward(norm1.forward(x)));
            return y.add(feedForward.forward(norm2.forward(y)));
        }
    }

    /** Trains the model on all ranks. */
    public static void main(String[] args) {
        Trainer.main("own-model.jar", args, OwnModel::new);
    }
}
