package io.jrun.models.llama;

import io.jrun.comm.Device;
import io.jrun.models.transformer.DecoderStack;
import io.jrun.models.transformer.ExpertLayers;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.Projection;
import io.jrun.models.transformer.RotaryEmbedding.Pairs;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.LowRankAdapter;
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
import java.util.regex.Pattern;
import org.bytedeco.pytorch.Tensor;

/**
 * Llama. The parameters have the names of Hugging Face's {@code modeling_llama.py}; {@link #mapping()} maps Meta's
 * names to these names. The rows of the query and key projections stay in the order of the file, and
 * {@link LlamaConfig#pairs()} names the order.
 */
public final class Llama extends LanguageModel {
    /** The parameters whose rows belong to rotated elements. */
    private static final Pattern ROTATED =
            Pattern.compile(".*\\.self_attn\\.[qk]_proj\\.(weight|bias|" + LowRankAdapter.UP + "\\.weight)");

    private static final DecoderStack.PartNames PARTS =
            new DecoderStack.PartNames("model.embed_tokens", List.of(), "model.norm", "lm_head");

    private LlamaConfig config;
    private final ExpertLayers experts;
    private final TokenEmbedding tokens;
    private final SequencePositions positions = add("positions", new SequencePositions());
    private final CompositeModule blocks;
    private DecoderStack stack;

    /** A model on a device whose parameters are zero. */
    public Llama(LlamaConfig config, Device device) {
        this(config, ExpertLayers.NONE, device);
    }

    /** As {@link #Llama(LlamaConfig, Device)}, with experts in some layers. */
    public Llama(LlamaConfig config, ExpertLayers experts, Device device) {
        this.config = config;
        this.experts = experts;
        CompositeModule model = add("model", new CompositeModule());
        tokens = model.add("embed_tokens", new TokenEmbedding(config.vocabulary(), config.width(), device));
        blocks = model.add("layers", new CompositeModule());
        Norm norm = model.add("norm", Norm.rootMeanSquare(config.width(), config.epsilon(), device));
        stack = new DecoderStack(tokens::forward, norm, tokens, null);
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
    public Llama build(Consumer<ModelBlock> built) {
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
        LlamaLayer layer = blocks.add(
                Integer.toString(number),
                new LlamaLayer(config, experts.isAt(number) ? experts : ExpertLayers.NONE, positions, ownDevice()));
        return new ModelBlock("model.layers." + number, number, layer, layer::forward);
    }

    @Override
    public Tensor forward(Tensor tokens_BS) {
        return stack.forward(blocks(), tokens_BS);
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
    public Map<String, ParallelStyle> tensorParallelPlan() {
        return experts.planOfOthers(config.tensorParallelPlan());
    }

    @Override
    public String configJson() {
        experts.requireNone("config.json of Hugging Face");
        return config.toJson();
    }

    /** Row 2i + h of a head in Meta's files is row i of half h in Hugging Face's files. */
    @Override
    public Tensor toFileOrder(String name, Tensor tensor) {
        return isInterleaved(name) ? transposeRows(tensor, config.headWidth() / 2, 2) : tensor;
    }

    @Override
    public Tensor fromFileOrder(String name, Tensor tensor) {
        return isInterleaved(name) ? transposeRows(tensor, 2, config.headWidth() / 2) : tensor;
    }

    private boolean isInterleaved(String name) {
        return config.pairs() == Pairs.INTERLEAVED && ROTATED.matcher(name).matches();
    }

    /** The rows of each head, seen as a matrix [outer, inner] of rows, in the order of [inner, outer]. */
    private static Tensor transposeRows(Tensor tensor, long outer, long inner) {
        return tensor.detach()
                .reshape(-1, outer, inner, tensor.numel() / tensor.size(0))
                .transpose(1, 2)
                .reshape(TensorMemory.sizes(tensor));
    }

    @Override
    public List<String> adapterTargets() {
        return List.of("q_proj", "v_proj");
    }

    @Override
    public String outputLayer() {
        return PARTS.head();
    }

    @Override
    public NameMapping mapping() {
        Map<String, String> rules = new LinkedHashMap<>();
        rules.put("^(tok_embeddings|embed_tokens)\\.", "model.embed_tokens.");
        rules.put("^norm\\.", "model.norm.");
        rules.put("^output\\.", "lm_head.");
        rules.put("^layers\\.", "model.layers.");
        rules.put("\\.attention\\.w([qkvo])\\.", ".self_attn.$1_proj.");
        rules.put("\\.feed_forward\\.w1\\.", ".mlp.gate_proj.");
        rules.put("\\.feed_forward\\.w2\\.", ".mlp.down_proj.");
        rules.put("\\.feed_forward\\.w3\\.", ".mlp.up_proj.");
        rules.put("\\.attention_norm\\.", ".input_layernorm.");
        rules.put("\\.ffn_norm\\.", ".post_attention_layernorm.");
        return NameMapping.of(rules, List.of(".*rotary_emb\\.inv_freq", "rope\\.freqs"));
    }

    @Override
    public Map<String, String> tiedNames() {
        return config.isTied() ? Map.of("lm_head.weight", "model.embed_tokens.weight") : Map.of();
    }

    @Override
    public void untie(String name) {
        config = config.untied();
        stack = stack.withHead(addHead());
        keepUntied();
    }
}
