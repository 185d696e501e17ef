package io.jrun.models.transformer;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.pipeline.PipelineLayer;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.weights.NameMapping;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;

/**
 * A model that gives logits for the tokens of a text. Parameters have Hugging Face's names. The parameters are zero
 * until the program loads or {@link #initialize initialises} the model. Shapes: B texts, S tokens, V vocabulary, D
 * width. Confined to one thread at a time.
 */
public abstract class LanguageModel extends CompositeModule {
    private final TokenLoss loss = add("loss", new TokenLoss());

    /** For subclasses. */
    protected LanguageModel() {}

    /**
     * Logits [B, S, V]. For a {@link #isCausal() causal} model the logits at a position are for the next token. For
     * BERT the logits are for the token of the position.
     *
     * @param tokens_BS token numbers of type Long, from 0 to V - 1; S at most the context of the model
     */
    public abstract Tensor forward(Tensor tokens_BS);

    /** Whether the output of a position depends only on this position and earlier positions. */
    public abstract boolean isCausal();

    /** The number of different tokens. */
    public abstract long vocabulary();

    /** The longest text in tokens. */
    public abstract long context();

    /** The number of layers. */
    public abstract long layers();

    /** The text of config.json. */
    public abstract String configJson();

    /** Maps the names in files of Hugging Face and others to the names of this module. */
    public abstract NameMapping mapping();

    /**
     * The plan by which tensor parallel ranks share the layers, for {@code TensorParallel.parallelize}. The plan of a
     * causal model fits sequence parallelism too.
     */
    public abstract Map<String, ParallelStyle> tensorParallelPlan();

    /** The model as layers of a pipeline: the embedding, the blocks, the output layer. */
    public abstract List<PipelineLayer> pipelineLayers();

    /** A layer of a pipeline that uses the parameters whose names begin with one of {@code prefixes}. */
    protected final PipelineLayer pipelineLayer(String name, UnaryOperator<Tensor> forward, String... prefixes) {
        Map<String, Tensor> used = new LinkedHashMap<>(ModuleTensors.parameters(this));
        used.keySet().removeIf(parameter -> Stream.of(prefixes).noneMatch(parameter::startsWith));
        return new PipelineLayer(name, used, forward);
    }

    /** Rules for files of {@code torch.save}: the state of a wrapped module, or of a dictionary of a training. */
    protected static Map<String, String> rulesOfTorchFiles() {
        Map<String, String> rules = new LinkedHashMap<>();
        rules.put("^(state_dict|model_state_dict)\\.", "");
        rules.put("^module\\.", "");
        return rules;
    }

    /** The tensors that a file of this model has, by the names of the file; without adapters. */
    public Map<String, Tensor> fileTensors() {
        Map<String, Tensor> tensors = new LinkedHashMap<>(ModuleTensors.all(this));
        tensors.keySet().removeIf(name -> name.contains(Projection.ADAPTER_INFIX));
        return tensors;
    }

    /**
     * Gives the parameters random values, see {@link InitialValues}.
     *
     * @param seed equal seeds give equal values
     */
    public void initialize(long seed) {
        new InitialValues(seed, layers()).fillRest(this);
    }

    /** Mean cross entropy in nats of the next tokens of a causal model; both [B, S]. */
    public Tensor loss(Tensor tokens_BS, Tensor next_BS) {
        return logitsLoss(forward(tokens_BS), next_BS);
    }

    /** Mean cross entropy in nats of logits [B, S, V]; of a part of the vocabulary if the layers are parallel. */
    public final Tensor logitsLoss(Tensor logits_BSV, Tensor next_BS) {
        return loss.mean(logits_BSV, next_BS);
    }
}
