package io.jrun.train;

import io.jrun.comm.Device;
import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.SequencePositions;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Two blocks of layers that parallelisms can replace: one with joint queries, keys and values and GPT-2's layout, one
 * with grouped queries. All linear layers of the blocks have biases, and the output is tied. Shapes: B texts, S tokens.
 */
public final class TinyTransformer extends CompositeModule {
    public static final int VOCABULARY = 130;
    public static final int CONTEXT = 16;

    private static final long WIDTH = 32;
    private static final long HEADS = 4;

    private final SequencePositions positions = add("positions", new SequencePositions());
    private final TokenEmbedding tokens = add("tokens", new TokenEmbedding(VOCABULARY, WIDTH));
    private final TokenEmbedding places = add("places", new TokenEmbedding(CONTEXT, WIDTH));
    private final JointBlock joint;
    private final GroupedBlock grouped;
    private final Norm norm = add("norm", Norm.layer(WIDTH, 1e-5));
    private final TokenLoss loss = add("loss", new TokenLoss());
    private final ModelBlock first;
    private final ModelBlock second;

    /** The settings of a model. */
    public record Options(torch.ScalarType type, long keyHeads, double dropout, boolean isRecomputed) {
        public static Options of(torch.ScalarType type) {
            return new Options(type, 2, 0, false);
        }
    }

    public TinyTransformer(Options options) {
        this(options, _ -> {});
    }

    /** Each block goes to {@code built} when all parameters have their values. */
    public TinyTransformer(Options options, Consumer<ModelBlock> built) {
        joint = add("joint", new JointBlock(options.dropout()));
        grouped = add("grouped", new GroupedBlock(options.keyHeads()));
        to(options.type(), false);
        try (NoGradGuard _ = new NoGradGuard()) {
            TinyGpt.fill(ModuleTensors.parameters(this), 7);
        }
        first = new ModelBlock("joint", 0, joint, joint::forward);
        second = new ModelBlock("grouped", 1, grouped, grouped::forward);
        if (options.isRecomputed()) {
            Recompute.apply(first);
        }
        built.accept(first);
        built.accept(second);
    }

    /** The plan by which tensor parallel ranks share this model. */
    public static Map<String, ParallelStyle> plan(long keyHeads) {
        Map<String, ParallelStyle> plan = new HashMap<>();
        plan.put("tokens", ParallelStyle.VOCABULARY);
        plan.put("loss", ParallelStyle.VOCABULARY);
        plan.put("places", ParallelStyle.SEQUENCE);
        plan.put("*norm", ParallelStyle.SEQUENCE);
        plan.put("*.*norm", ParallelStyle.SEQUENCE);
        plan.put("joint.innerDropout", ParallelStyle.DISTINCT);
        plan.put("joint.outerDropout", ParallelStyle.SEQUENCE);
        plan.put("joint.qkv", ParallelStyle.jointHeads(HEADS));
        plan.put("grouped.query", ParallelStyle.heads(HEADS));
        plan.put("grouped.key", ParallelStyle.heads(keyHeads));
        plan.put("grouped.value", ParallelStyle.heads(keyHeads));
        plan.put("*.up", ParallelStyle.COLUMN);
        plan.put("*.out", ParallelStyle.ROW);
        plan.put("*.down", ParallelStyle.ROW);
        return plan;
    }

    /** Mean cross entropy. */
    public Tensor loss(Tensor tokens_BS, Tensor next_BS) {
        Tensor x = tokens.forward(tokens_BS).add(places.forward(positions.of(tokens_BS.size(1), tokens_BS)));
        return loss.mean(tokens.logits(norm.forward(second.forward(first.forward(x)))), next_BS);
    }

    private static final class JointBlock extends CompositeModule {
        private final AttentionLayer attention = add("attention", new AttentionLayer(WIDTH / HEADS));
        private final Norm attentionNorm = add("attentionnorm", Norm.layer(WIDTH, 1e-5));
        private final LinearLayer qkv = add("qkv", new LinearLayer(WIDTH, 3 * WIDTH, true, Layout.CONV1D));
        private final LinearLayer out = add("out", new LinearLayer(WIDTH, WIDTH, true, Layout.CONV1D));
        private final Norm innerNorm = add("innernorm", Norm.layer(WIDTH, 1e-5));
        private final LinearLayer up = add("up", new LinearLayer(WIDTH, 4 * WIDTH, true, Layout.CONV1D));
        private final LinearLayer down = add("down", new LinearLayer(4 * WIDTH, WIDTH, true, Layout.CONV1D));
        private final DropoutLayer innerDropout;
        private final DropoutLayer outerDropout;

        JointBlock(double dropout) {
            innerDropout = add("innerDropout", new DropoutLayer(dropout, 5));
            outerDropout = add("outerDropout", new DropoutLayer(dropout, 6));
        }

        Tensor forward(Tensor x) {
            Tensor attended = attention.attendJoint(qkv.forward(attentionNorm.forward(x)), true);
            Tensor y = x.add(outerDropout.forward(out.forward(attended)));
            Tensor inner = innerDropout.forward(torch.gelu(up.forward(innerNorm.forward(y))));
            return y.add(down.forward(inner));
        }
    }

    private static final class GroupedBlock extends CompositeModule {
        private final AttentionLayer attention = add("attention", new AttentionLayer(WIDTH / HEADS));
        private final Norm attentionNorm = add("attentionnorm", Norm.rootMeanSquare(WIDTH, 1e-5, Device.CPU));
        private final LinearLayer query = add("query", new LinearLayer(WIDTH, WIDTH, true));
        private final LinearLayer key;
        private final LinearLayer value;
        private final LinearLayer out = add("out", new LinearLayer(WIDTH, WIDTH, true));

        GroupedBlock(long keyHeads) {
            key = add("key", new LinearLayer(WIDTH, keyHeads * WIDTH / HEADS, true));
            value = add("value", new LinearLayer(WIDTH, keyHeads * WIDTH / HEADS, true));
        }

        Tensor forward(Tensor x) {
            List<Tensor> qkv = LinearLayer.forwardAll(attentionNorm.forward(x), List.of(query, key, value));
            return x.add(out.forward(attention.attend(
                    attention.split(qkv.get(0)), attention.split(qkv.get(1)), attention.split(qkv.get(2)), true)));
        }
    }
}
