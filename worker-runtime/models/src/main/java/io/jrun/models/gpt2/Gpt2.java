package io.jrun.models.gpt2;

import io.jrun.comm.Device;
import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.DecoderStack;
import io.jrun.models.transformer.ExpertLayers;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.Projection;
import io.jrun.train.expert.ExpertNetwork;
import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.SequencePositions;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.weights.NameMapping;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Tensor;

/**
 * GPT-2: a decoder with learned positions and norms before the sublayers. The output layer has the matrix of the
 * embedding, or a matrix of its own.
 * Source: Radford et al. 2019; names and layout of the weights as in Hugging Face's {@code modeling_gpt2.py}. No
 * dropout.
 */
public final class Gpt2 extends LanguageModel {
    private static final DecoderStack.PartNames PARTS =
            new DecoderStack.PartNames("transformer.wte", List.of("transformer.wpe"), "transformer.ln_f", "lm_head");

    private Gpt2Config config;
    private final ExpertLayers experts;
    private final TokenEmbedding tokens;
    private final TokenEmbedding positions;
    private final SequencePositions places = add("places", new SequencePositions());
    private final CompositeModule blocks;
    private DecoderStack stack;

    /** A model on a device whose parameters are zero. */
    public Gpt2(Gpt2Config config, Device device) {
        this(config, ExpertLayers.NONE, device);
    }

    /** As {@link #Gpt2(Gpt2Config, Device)}, with experts in some blocks. */
    public Gpt2(Gpt2Config config, ExpertLayers experts, Device device) {
        this.config = config;
        this.experts = experts;
        CompositeModule transformer = add("transformer", new CompositeModule());
        tokens = transformer.add("wte", new TokenEmbedding(config.vocabulary(), config.width(), device));
        positions = transformer.add("wpe", new TokenEmbedding(config.context(), config.width(), device));
        blocks = transformer.add("h", new CompositeModule());
        Norm norm = transformer.add("ln_f", Norm.layer(config.width(), config.epsilon(), device));
        stack = new DecoderStack(this::embed, norm, tokens, null);
    }

    private Projection addHead() {
        return add(
                PARTS.head(), new Projection(config.width(), config.vocabulary(), false, Layout.LINEAR, ownDevice()));
    }

    private Device ownDevice() {
        return TensorMemory.device(tokens.weight());
    }

    /** The output layer is built last. */
    @Override
    public Gpt2 build(Consumer<ModelBlock> built) {
        super.build(built);
        if (!config.isTied()) {
            stack = stack.withHead(addHead());
        }
        return this;
    }

    @Override
    public int blockCount() {
        return Math.toIntExact(config.layers());
    }

    @Override
    protected ModelBlock buildBlock(int number) {
        Block block = blocks.add(
                Integer.toString(number),
                new Block(config, number, experts.isAt(number) ? experts : ExpertLayers.NONE, ownDevice()));
        return new ModelBlock("transformer.h." + number, number, block, block::forward);
    }

    @Override
    public Tensor forward(Tensor tokens_BS) {
        return stack.forward(blocks(), tokens_BS);
    }

    private Tensor embed(Tensor tokens_BS) {
        return tokens.forward(tokens_BS).add(positions.forward(places.of(tokens_BS.size(1), tokens_BS)));
    }

    @Override
    public List<PipelineLayer> pipelineLayers() {
        return stack.pipelineLayers(this, PARTS);
    }

    @Override
    public boolean isCausal() {
        return true;
    }

    @Override
    public long vocabulary() {
        return config.vocabulary();
    }

    @Override
    public long context() {
        return config.context();
    }

    @Override
    public String configJson() {
        experts.requireNone("config.json of Hugging Face");
        return config.toJson();
    }

    @Override
    public Map<String, ParallelStyle> tensorParallelPlan() {
        return experts.planOfOthers(config.tensorParallelPlan());
    }

    @Override
    public List<String> adapterTargets() {
        return List.of("c_attn");
    }

    @Override
    public String outputLayer() {
        return PARTS.head();
    }

    /** Files of OpenAI's sizes lack the prefix. Masks are buffers of older versions. */
    @Override
    public NameMapping mapping() {
        Map<String, String> rules = new LinkedHashMap<>();
        rules.put("^(wte|wpe|h|ln_f)\\.", "transformer.$1.");
        return NameMapping.of(rules, List.of(".*\\.attn\\.(masked_)?bias"));
    }

    @Override
    public Map<String, String> tiedNames() {
        return config.isTied() ? Map.of("lm_head.weight", "transformer.wte.weight") : Map.of();
    }

    @Override
    public void untie(String name) {
        config = config.untied();
        stack = stack.withHead(addHead());
        keepUntied();
    }

    private static final class Block extends CompositeModule {
        private final AttentionLayer attend;
        private final Norm attentionNorm;
        private final Projection queriesKeysValues;
        private final Projection attentionOut;
        private final Norm feedForwardNorm;
        private final UnaryOperator<Tensor> feedForward;

        Block(Gpt2Config config, long number, ExpertLayers experts, Device device) {
            long width = config.width();
            attend = add("attend", new AttentionLayer(width / config.heads(), config.queryFactor(number)));
            attentionNorm = add("ln_1", Norm.layer(width, config.epsilon(), device));
            CompositeModule attention = add("attn", new CompositeModule());
            queriesKeysValues = attention.add("c_attn", new Projection(width, 3 * width, true, Layout.CONV1D, device));
            attentionOut = attention.add("c_proj", new Projection(width, width, true, Layout.CONV1D, device));
            feedForwardNorm = add("ln_2", Norm.layer(width, config.epsilon(), device));
            feedForward = experts.equals(ExpertLayers.NONE)
                    ? add("mlp", new FeedForward(config, device))::forward
                    : add("mlp", experts.layer(ExpertNetwork.Kind.GELU, width, config.inner(), device))::forward;
        }

        Tensor forward(Tensor x_BSD) {
            Tensor qkv = queriesKeysValues.forward(attentionNorm.forward(x_BSD));
            Tensor attended = attend.attendJoint(qkv, true);
            Tensor y_BSD = x_BSD.add(attentionOut.forward(attended));
            return y_BSD.add(feedForward.apply(feedForwardNorm.forward(y_BSD)));
        }
    }

    private static final class FeedForward extends CompositeModule {
        private final Projection in;
        private final Projection out;
        private final Activation activation;

        FeedForward(Gpt2Config config, Device device) {
            activation = config.activation();
            in = add("c_fc", new Projection(config.width(), config.inner(), true, Layout.CONV1D, device));
            out = add("c_proj", new Projection(config.inner(), config.width(), true, Layout.CONV1D, device));
        }

        Tensor forward(Tensor x_BSD) {
            return out.forward(activation.of(in.forward(x_BSD)));
        }
    }
}
