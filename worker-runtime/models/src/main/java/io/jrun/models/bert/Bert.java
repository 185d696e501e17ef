package io.jrun.models.bert;

import io.jrun.comm.Device;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.Projection;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.weights.NameMapping;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * BERT with the head for masked tokens. The head has the matrix of the embedding, or a matrix of its own. All tokens are of segment 0, and none is padding.
 * Source: Devlin et al. 2018; names of the weights as in Hugging Face's {@code modeling_bert.py},
 * {@code BertForMaskedLM}. No dropout.
 */
public final class Bert extends LanguageModel {
    private static final String PREDICTIONS = "cls.predictions.";
    private static final String LAYERS = "bert.encoder.layer.";
    private static final String WORDS = "bert.embeddings.word_embeddings.";

    private BertConfig config;
    private final TokenEmbedding words;
    private final TokenEmbedding positions;
    private final TokenEmbedding segments;
    private final Norm embeddingNorm;
    private final CompositeModule layers;
    private final Projection headProjection;
    private final Norm headNorm;
    private final Tensor headBias;
    private final CompositeModule predictions;
    private @Nullable Projection decoder;

    /** A model on a device whose parameters are zero. */
    public Bert(BertConfig config, Device device) {
        this.config = config;
        long width = config.width();
        CompositeModule bert = add("bert", new CompositeModule());
        CompositeModule embeddings = bert.add("embeddings", new CompositeModule());
        words = embeddings.add("word_embeddings", new TokenEmbedding(config.vocabulary(), width, device));
        positions = embeddings.add("position_embeddings", new TokenEmbedding(config.context(), width, device));
        segments = embeddings.add("token_type_embeddings", new TokenEmbedding(config.segments(), width, device));
        embeddingNorm = embeddings.add("LayerNorm", Norm.layer(width, config.epsilon(), device));
        layers = bert.add("encoder", new CompositeModule()).add("layer", new CompositeModule());
        predictions = add("cls", new CompositeModule()).add("predictions", new CompositeModule());
        headBias = TensorMemory.own(
                predictions.register_parameter("bias", DeviceTensors.zeros(device, config.vocabulary())));
        CompositeModule transform = predictions.add("transform", new CompositeModule());
        headProjection = transform.add("dense", new Projection(width, width, true, Layout.LINEAR, device));
        headNorm = transform.add("LayerNorm", Norm.layer(width, config.epsilon(), device));
        decoder = config.isTied() ? null : addDecoder();
    }

    private Projection addDecoder() {
        return predictions.add(
                "decoder", new Projection(config.width(), config.vocabulary(), false, Layout.LINEAR, ownDevice()));
    }

    private Device ownDevice() {
        return TensorMemory.device(headBias);
    }

    @Override
    public int blockCount() {
        return Math.toIntExact(config.layers());
    }

    @Override
    protected ModelBlock buildBlock(int number) {
        BertLayer layer = layers.add(Integer.toString(number), new BertLayer(config, ownDevice()));
        return new ModelBlock(LAYERS + number, number, layer, layer::forward);
    }

    @Override
    public Tensor forward(Tensor tokens_BS) {
        Tensor x_BSD = embed(tokens_BS);
        for (ModelBlock block : blocks()) {
            x_BSD = block.forward(x_BSD);
        }
        return logits(x_BSD);
    }

    private Tensor embed(Tensor tokens_BS) {
        return embeddingNorm.forward(words.forward(tokens_BS)
                .add(segments.forward(torch.zeros_like(tokens_BS)))
                .add(positions.forward(DeviceTensors.range(tokens_BS.size(1), tokens_BS))));
    }

    private Tensor logits(Tensor x_BSD) {
        Tensor head_BSD = headNorm.forward(config.activation().of(headProjection.forward(x_BSD)));
        Projection own = decoder;
        return (own == null ? words.logits(head_BSD) : own.forward(head_BSD)).add(headBias);
    }

    @Override
    public List<PipelineLayer> pipelineLayers() {
        List<PipelineLayer> all = new ArrayList<>();
        all.add(pipelineLayer("embedding", this::embed, "bert.embeddings."));
        blocks().forEach(block -> all.add(block.layer()));
        String[] ofHead = config.isTied() ? new String[] {"cls.", WORDS} : new String[] {"cls."};
        all.add(pipelineLayer("head", this::logits, ofHead));
        return all;
    }

    @Override
    public boolean isCausal() {
        return false;
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
        return config.toJson();
    }

    /** Each rank has the embeddings and the head. */
    @Override
    public Map<String, ParallelStyle> tensorParallelPlan() {
        return Map.of(
                "bert.encoder.layer.*.attention.self.*", ParallelStyle.heads(config.heads()),
                "bert.encoder.layer.*.attention.output.dense", ParallelStyle.ROW,
                "bert.encoder.layer.*.intermediate.dense", ParallelStyle.COLUMN,
                "bert.encoder.layer.*.output.dense", ParallelStyle.ROW);
    }

    @Override
    public List<String> adapterTargets() {
        return List.of("query", "value");
    }

    @Override
    public String outputLayer() {
        return PREDICTIONS + "decoder";
    }

    /** Files from TensorFlow call weight and bias of a norm gamma and beta. Heads of other tasks are not needed. */
    @Override
    public NameMapping mapping() {
        Map<String, String> rules = new LinkedHashMap<>();
        rules.put("LayerNorm\\.gamma$", "LayerNorm.weight");
        rules.put("LayerNorm\\.beta$", "LayerNorm.bias");
        rules.put("^(embeddings|encoder|pooler)\\.", "bert.$1.");
        return NameMapping.of(
                rules,
                List.of("bert\\.embeddings\\.position_ids", "bert\\.pooler\\..*", "cls\\.seq_relationship\\..*"));
    }

    /** The bias of the head has two names. */
    @Override
    public Map<String, String> tiedNames() {
        Map<String, String> tied = new LinkedHashMap<>();
        tied.put(PREDICTIONS + "decoder.bias", PREDICTIONS + "bias");
        if (config.isTied()) {
            tied.put(PREDICTIONS + "decoder.weight", WORDS + "weight");
        }
        return tied;
    }

    @Override
    public void untie(String name) {
        if (!name.equals(PREDICTIONS + "decoder.weight")) {
            throw new IllegalArgumentException("the model has one tensor for '" + name + "' and '"
                    + tiedNames().get(name) + "', but the file has two different tensors");
        }
        config = config.untied();
        decoder = addDecoder();
        keepUntied();
    }
}
