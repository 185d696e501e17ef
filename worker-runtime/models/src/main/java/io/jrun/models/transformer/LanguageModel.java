package io.jrun.models.transformer;

import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.model.InitialValues;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.weights.NameMapping;
import io.jrun.train.weights.PretrainedModule;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A model that gives logits for the tokens of a text. A constructor makes the parts around the blocks, and {@link #build}
 * the blocks. Parameters have Hugging Face's names. The parameters are zero
 * until the program loads or {@link #initialize initialises} the model. Shapes: B texts, S tokens, V vocabulary, D
 * width. Confined to one thread at a time.
 */
public abstract class LanguageModel extends TrainableModel implements PretrainedModule {
    /** Deeper than each published model: a larger number in a file is an error of the file. */
    public static final long MAX_LAYERS = 4096;

    private static final Pattern TIED = Pattern.compile("(\"tie_word_embeddings\"\\s*:\\s*)(true|null)");

    private final TokenLoss loss = add("loss", new TokenLoss());
    private final List<String> notes = new ArrayList<>();
    private @Nullable String givenConfig;

    /** For subclasses. */
    protected LanguageModel() {}

    /**
     * Logits [B, S, V]. For a {@link #isCausal() causal} model the logits at a position are for the next token. For
     * BERT the logits are for the token of the position.
     *
     * @param tokens_BS token numbers of type Long, from 0 to V - 1; S at most the context of the model
     */
    @Override
    public abstract Tensor forward(Tensor tokens_BS);

    /** Whether the output of a position depends only on this position and earlier positions. */
    public abstract boolean isCausal();

    /** The number of different tokens. */
    public abstract long vocabulary();

    /** The longest text in tokens. */
    public abstract long context();

    /** The text of config.json for the sizes of this model. */
    public abstract String configJson();

    /** The text of the config.json that the model was built from; empty if there was none. */
    public final Optional<String> givenConfigJson() {
        return Optional.ofNullable(givenConfig);
    }

    /**
     * Keeps the text of the config.json that the model was built from, with the fields that jrun does not know.
     * {@code ModelFolder.save} writes the text unchanged.
     */
    public final void keepConfigJson(String text) {
        givenConfig = text;
    }

    /** For subclasses that have untied their output layer: a saved config.json says so. */
    protected final void keepUntied() {
        String text = givenConfig;
        if (text != null) {
            Matcher tied = TIED.matcher(text);
            givenConfig = tied.find()
                    ? tied.replaceFirst("$1false")
                    : text.replaceFirst("\\{", "{\n  \"tie_word_embeddings\": false,");
        }
    }

    /** Adds lines for {@link #notes()}. */
    public final void addNotes(List<String> lines) {
        notes.addAll(lines);
    }

    @Override
    public final List<String> notes() {
        return List.copyOf(notes);
    }

    /** Maps the names in files of Hugging Face and others to the names of this module. */
    public abstract NameMapping mapping();

    /** The last words of the names of the projections that get adapters by default. The defaults are PEFT's. */
    public abstract List<String> adapterTargets();

    /** The name of the output layer. The model has a projection of this name if the layer has a matrix of its own. */
    public abstract String outputLayer();

    /**
     * The plan by which tensor parallel ranks share the layers, for {@code TensorParallel.parallelize}. The plan of a
     * causal model fits sequence parallelism too.
     */
    public abstract Map<String, ParallelStyle> tensorParallelPlan();

    /** The model as layers of a pipeline: the embedding, the blocks, the output layer. */
    @Override
    public abstract List<PipelineLayer> pipelineLayers();

    /** A layer of a pipeline that uses the parameters whose names begin with one of {@code prefixes}. */
    protected final PipelineLayer pipelineLayer(String name, UnaryOperator<Tensor> forward, String... prefixes) {
        Map<String, Tensor> used = new LinkedHashMap<>(ModuleTensors.parameters(this));
        used.keySet().removeIf(parameter -> Stream.of(prefixes).noneMatch(parameter::startsWith));
        return new PipelineLayer(name, used, forward);
    }

    /**
     * The elements of a parameter in the order of Hugging Face's files. The tensor itself, unless the model has the
     * order of other files.
     */
    public Tensor toFileOrder(String name, Tensor tensor) {
        return tensor;
    }

    /** The inverse of {@link #toFileOrder}. */
    public Tensor fromFileOrder(String name, Tensor tensor) {
        return tensor;
    }

    /**
     * The tensors of this module by their names.
     *
     * @throws IllegalStateException if this rank has only a part of a layer
     */
    public final Map<String, Tensor> wholeTensors() {
        descendants(LinearLayer.class).forEach((name, layer) -> {
            if (layer.weight().numel() != layer.inputs() * layer.outputs()) {
                throw new IllegalStateException("this rank has a part of the layer '" + name
                        + "'. Gather the whole tensors and save them, for example with ShardedTensor.whole.");
            }
        });
        return ModuleTensors.all(this);
    }

    /**
     * Gives the parameters random values, see {@link InitialValues}.
     *
     * @param seed equal seeds give equal values
     */
    public void initialize(long seed) {
        new InitialValues(seed, blockCount()).fill(this);
    }

    /** Mean cross entropy in nats of logits [B, S, V]; of a part of the vocabulary if the layers are parallel. */
    @Override
    public final Tensor outputLoss(Tensor logits_BSV, Tensor next_BS) {
        return loss.mean(logits_BSV, next_BS);
    }
}
