package io.jrun.examples.own;

import io.jrun.comm.Device;
import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.SequencePositions;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.trainer.Trainer;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Main class of own-model.jar: a transformer of one's own. The trainer gives it all options: see {@code --help}. */
public final class OwnModel extends LayeredModel {
    private static final int WIDTH = 64;
    private static final int HEADS = 4;
    private static final int BLOCKS = 4;

    /** The model of a setup; its layers are built later. */
    public OwnModel(ModelSetup setup) {
        super(setup);
        first("embedding", () -> new Embedding(setup), Embedding::forward);
        for (int i = 0; i < BLOCKS; i++) {
            block(() -> new Block(setup.device()), Block::forward);
        }
        last("head", () -> linear(WIDTH, setup.vocabulary(), setup.device()), LinearLayer::forward);
    }

    /** Trains the model on all ranks. */
    public static void main(String[] args) {
        Trainer.main("own-model.jar", args, OwnModel::new);
    }

    @Override
    public Map<String, ParallelStyle> tensorParallelPlan() {
        return Map.of(
                "embedding.tokens", ParallelStyle.VOCABULARY,
                "embedding.positions", ParallelStyle.SEQUENCE,
                "block*.norm*", ParallelStyle.SEQUENCE,
                "block*.qkv", ParallelStyle.jointHeads(HEADS),
                "block*.out", ParallelStyle.ROW,
                "block*.up", ParallelStyle.COLUMN,
                "block*.down", ParallelStyle.ROW,
                "head", ParallelStyle.VOCABULARY,
                "loss", ParallelStyle.VOCABULARY);
    }

    @Override
    public boolean sharesSequences() {
        return true; // the positions of a text meet in the attention alone
    }

    private static LinearLayer linear(long from, long to, Device device) {
        return new LinearLayer(from, to, true, LinearLayer.Layout.LINEAR, device);
    }

    private static final class Embedding extends CompositeModule {
        private final TokenEmbedding tokens;
        private final TokenEmbedding positions;
        private final SequencePositions places = add("places", new SequencePositions());

        Embedding(ModelSetup setup) {
            tokens = add("tokens", new TokenEmbedding(setup.vocabulary(), WIDTH, setup.device()));
            positions = add("positions", new TokenEmbedding(setup.context(), WIDTH, setup.device()));
        }

        Tensor forward(Tensor tokens_BS) {
            return tokens.forward(tokens_BS).add(positions.forward(places.of(tokens_BS.size(1), tokens_BS)));
        }
    }

    private static final class Block extends CompositeModule {
        private final AttentionLayer attention = add("attention", new AttentionLayer(WIDTH / HEADS));
        private final Norm norm1;
        private final Norm norm2;
        private final LinearLayer qkv;
        private final LinearLayer out;
        private final LinearLayer up;
        private final LinearLayer down;

        Block(Device device) {
            norm1 = add("norm1", Norm.layer(WIDTH, 1e-5, device));
            qkv = add("qkv", linear(WIDTH, 3 * WIDTH, device));
            out = add("out", linear(WIDTH, WIDTH, device));
            norm2 = add("norm2", Norm.layer(WIDTH, 1e-5, device));
            up = add("up", linear(WIDTH, 4 * WIDTH, device));
            down = add("down", linear(4 * WIDTH, WIDTH, device));
        }

        Tensor forward(Tensor x_BSD) {
            Tensor y_BSD = x_BSD.add(out.forward(attention.attendJoint(qkv.forward(norm1.forward(x_BSD)), true)));
            return y_BSD.add(down.forward(torch.gelu(up.forward(norm2.forward(y_BSD)))));
        }
    }
}
