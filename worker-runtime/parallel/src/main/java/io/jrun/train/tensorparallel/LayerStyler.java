package io.jrun.train.tensorparallel;

import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.LinearOperation;
import io.jrun.train.layer.LowRankAdapter;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.SameInputs;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.tensorparallel.ParallelStyle.Column;
import io.jrun.train.tensorparallel.ParallelStyle.Distinct;
import io.jrun.train.tensorparallel.ParallelStyle.GatheredColumn;
import io.jrun.train.tensorparallel.ParallelStyle.Row;
import io.jrun.train.tensorparallel.ParallelStyle.Sequence;
import io.jrun.train.tensorparallel.ParallelStyle.Vocabulary;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Gives the layers of one model their parallel operations and this rank's part of their parameters. */
final class LayerStyler {
    /** Megatron's distance between the seeds outside and inside of tensor parallel layers. */
    private static final long SEED_DISTANCE = 2718;

    private final MeshAxis axis;
    private final boolean isSequenceParallel;
    private final ConjugateFunctions functions;
    private final SequenceCollectives collectives;
    private final ColumnLinear column;
    private final RowLinear row;
    private final LinearOperation gatheredColumn;
    /** A linear layer that all ranks hold. */
    private final LinearOperation replicated;

    /** The layers that have the seed of this rank. */
    private final Set<DropoutLayer> distinct = new HashSet<>();

    /** Number of tokens of the embeddings of the style VOCABULARY; 0 before the first. */
    private long embeddedTokens;
    /** Number of outputs of the linear layer of the style VOCABULARY, such as classes; 0 without one. */
    private long headOutputs;
    /** The linear layer of the style VOCABULARY; null without one. */
    private @Nullable String headName;
    /** A loss without a style in a model without a loss of the style VOCABULARY; null without one. */
    private @Nullable String wholeLoss;
    /** The class of a model with a loss of its own; null for a model whose loss is a {@link TokenLoss}. */
    private @Nullable String ownLossOf;
    /** The loss of the style VOCABULARY; null without one. */
    private @Nullable String lossName;

    LayerStyler(MeshAxis axis, boolean isSequenceParallel) {
        this.axis = axis;
        this.isSequenceParallel = isSequenceParallel;
        functions = new ConjugateFunctions(axis);
        collectives = new SequenceCollectives(axis);
        column = new ColumnLinear(axis, isSequenceParallel);
        gatheredColumn = this::mapAndGather;
        row = new RowLinear(axis, functions, isSequenceParallel);
        replicated = isSequenceParallel ? this::mapPartOfSequence : LinearOperation.LOCAL;
    }

    /** Throws if the style does not fit the layer. Changes no layer. */
    void check(String name, Module module, ParallelStyle style) {
        if (!(style instanceof Sequence || style instanceof Distinct)) {
            ParameterNotes.requireWhole(name, module, "TensorParallel");
        }
        switch (style) {
            case Column(long heads, int sections)
            when module instanceof LinearLayer layer -> {
                require(
                        layer.outputs() % sections == 0,
                        name,
                        layer.outputs() + " outputs are not " + sections + " equal sections");
                requireDivides(name, heads == 0 ? layer.outputs() / sections : heads, heads == 0 ? "outputs" : "heads");
            }
            case GatheredColumn _
            when module instanceof LinearLayer layer ->
                requireForAll(name, layer.outputs(), layer.outputs() + " outputs leave a rank without outputs");
            case Row _ when module instanceof LinearLayer layer -> requireDivides(name, layer.inputs(), "inputs");
            case Vocabulary _
            when module instanceof TokenEmbedding embedding -> {
                requireVocabulary(name, embedding.count(), embeddedTokens);
                embeddedTokens = embedding.count();
            }
            case Vocabulary _
            when module instanceof LinearLayer layer -> {
                requireVocabulary(name, layer.outputs(), headOutputs);
                headOutputs = layer.outputs();
                headName = name;
            }
            case Vocabulary _ when module instanceof TokenLoss -> lossName = name;
            case Sequence _
            when module instanceof Norm || module instanceof TokenEmbedding || module instanceof DropoutLayer -> {}
            case Distinct _ when module instanceof DropoutLayer -> {}
            case Column _, GatheredColumn _, Row _, Vocabulary _, Sequence _, Distinct _ ->
                throw new IllegalArgumentException("layer '" + name + "' is a "
                        + module.getClass().getSimpleName() + ", for which there is no style "
                        + style.getClass().getSimpleName());
        }
    }

    /**
     * Throws if the layers do not fit one another. Follows {@link #check} of all layers. Changes no layer.
     *
     * @param ownLoss the class of a model with a loss of its own; null for a model whose loss is a {@link TokenLoss}
     */
    void checkTogether(Map<String, Module> layers, Set<String> styled, @Nullable String ownLoss) {
        ownLossOf = ownLoss;
        if (lossName != null && logits() == 0) {
            throw new IllegalArgumentException(
                    "layer '" + lossName + "' is a loss of the style VOCABULARY, but the plan has no"
                            + " layer of logits of this style. Give the layer of logits the style VOCABULARY, or the"
                            + " loss no style.");
        }
        // Beside a loss of the style VOCABULARY another loss may have the logits of a whole layer.
        wholeLoss = layers.keySet().stream()
                .filter(name -> lossName == null && layers.get(name) instanceof TokenLoss && !styled.contains(name))
                .findFirst()
                .orElse(null);
        if (headName != null) {
            requireNoWholeLoss(headName);
        }
    }

    /** Logits of a part of the tokens have wrong numbers for a loss of all tokens. */
    private void requireNoWholeLoss(String logits) {
        if (ownLossOf != null) {
            throw new IllegalArgumentException("layer '" + logits + "' of the style VOCABULARY gives the logits of a"
                    + " part of the tokens, but the model " + ownLossOf
                    + " overrides outputLoss, which needs all logits. Give"
                    + " the linear layer of the logits the style GATHERED_COLUMN and the loss no style, or do not"
                    + " override outputLoss.");
        }
        if (wholeLoss != null) {
            throw new IllegalArgumentException("layer '" + logits + "' of the style VOCABULARY gives the logits of a"
                    + " part of the tokens, but the loss '" + wholeLoss + "' has no style. Give the loss the style"
                    + " VOCABULARY.");
        }
    }

    /** Embeddings have equal numbers of tokens, and so have layers of logits: the one loss knows one number. */
    private void requireVocabulary(String name, long count, long ofOthers) {
        require(
                ofOthers == 0 || ofOthers == count,
                name,
                count + " tokens, but another such layer of the style VOCABULARY has " + ofOthers);
        requireForAll(name, count, "a vocabulary of " + count + " tokens leaves a rank without tokens");
    }

    /** The number of logits for the loss. Without a layer of their own they have the matrix of the embedding. */
    private long logits() {
        return headName == null ? embeddedTokens : headOutputs;
    }

    /** Throws if logits with the matrix of an embedding do not fit the loss. */
    private void requireLogits(String embedding) {
        requireNoWholeLoss(embedding);
        if (lossName != null && logits() != embeddedTokens) {
            throw new IllegalArgumentException("the embedding '" + embedding + "' gives the logits of " + embeddedTokens
                    + " tokens, but the loss '" + lossName + "' of the style VOCABULARY takes the " + headOutputs
                    + " outputs of '" + headName + "'. Give one of the two layers another style.");
        }
    }

    /** All layers of the model have their styles. A layer of the style COLUMN may compute. */
    void modelDone() {
        column.modelDone();
    }

    /** Follows a successful {@link #check} of all layers and {@link #checkTogether}. */
    void apply(String name, Module module, ParallelStyle style) {
        switch (style) {
            case Column joint -> applyColumn(name, (LinearLayer) module, joint.sections(), column);
            case GatheredColumn _ -> applyColumn(name, (LinearLayer) module, 1, gatheredColumn);
            case Row _ -> applyRow(name, (LinearLayer) module);
            case Vocabulary _ -> applyVocabulary(name, module);
            case Sequence _ -> applySequence(module);
            case Distinct _ -> {
                DropoutLayer layer = (DropoutLayer) module;
                if (distinct.add(layer)) { // a layer may have several names
                    layer.setSeed(layer.seed() + SEED_DISTANCE + axis.coordinate());
                }
            }
        }
    }

    private void applyColumn(String name, LinearLayer layer, int sections, LinearOperation operation) {
        shard(name + ".weight", layer.weight(), new Shard(layer.layout() == Layout.LINEAR ? 0 : 1, sections));
        Tensor bias = layer.bias();
        if (bias != null) {
            shard(name + ".bias", bias, new Shard(0, sections));
        }
        layer.setOperation(operation);
        layer.adapter().ifPresent(adapter -> {
            adapter.down().setOperation(replicated);
            applyColumn(name + "." + LowRankAdapter.UP, adapter.up(), sections, operation);
        });
    }

    private void applyRow(String name, LinearLayer layer) {
        shard(name + ".weight", layer.weight(), new Shard(layer.layout() == Layout.LINEAR ? 1 : 0));
        layer.setOperation(row);
        layer.adapter().ifPresent(adapter -> {
            applyRow(name + "." + LowRankAdapter.DOWN, adapter.down());
            adapter.up().setOperation(replicated);
        });
    }

    /** The gradient of a weight is the sum over the parts of the sequence. */
    private List<Tensor> mapPartOfSequence(Tensor x, List<? extends LinearLayer> layers) {
        return layers.stream()
                .map(layer -> torch.linear(x, functions.copy(layer.matrix())))
                .toList();
    }

    private List<Tensor> mapAndGather(Tensor x, List<? extends LinearLayer> layers) {
        List<Tensor> parts = column.apply(x, layers);
        List<Tensor> whole = new ArrayList<>();
        for (int i = 0; i < parts.size(); i++) {
            whole.add(functions.gatherLast(parts.get(i), layers.get(i).outputs()));
        }
        return whole;
    }

    private void applyVocabulary(String name, Module module) {
        if (module instanceof LinearLayer layer) {
            applyColumn(name, layer, 1, column);
        } else if (module instanceof TokenEmbedding embedding) {
            shard(name + ".weight", embedding.weight(), new Shard(0));
            embedding.setOperation(new VocabularyEmbedding(
                    part(embeddedTokens),
                    functions,
                    column,
                    isSequenceParallel,
                    new SameInputs(axis),
                    () -> requireLogits(name)));
        } else if (module instanceof TokenLoss loss) {
            loss.setPerToken(new VocabularyCrossEntropy(collectives, part(logits())));
        }
    }

    private void applySequence(Module module) {
        if (!isSequenceParallel) {
            return;
        }
        switch (module) {
            case Norm norm -> norm.setParameterUse(functions::copy);
            case TokenEmbedding embedding ->
                embedding.setOperation(new SequenceEmbedding(collectives, functions, new SameInputs(axis)));
            case DropoutLayer dropout ->
                dropout.setMaskShape((sizes, draw) -> {
                    sizes[1] *= axis.size();
                    return collectives.slice(draw.apply(sizes), 1);
                });
            default -> throw new IllegalStateException("no sequence parallel " + module);
        }
    }

    private ShardRange part(long tokens) {
        return ShardRange.of(tokens, axis.size(), axis.coordinate());
    }

    private void shard(String name, Tensor parameter, Shard placement) {
        ParameterNotes.divide(name, parameter, placement, axis, parameter);
    }

    private void requireForAll(String name, long size, String message) {
        require(ShardRange.of(size, axis.size(), axis.size() - 1).length() > 0, name, message);
    }

    private void requireDivides(String name, long size, String what) {
        require(
                size % axis.size() == 0,
                name,
                size + " " + what + " cannot be shared by " + axis.size() + " tensor parallel ranks in equal parts");
    }

    private static void require(boolean holds, String name, String message) {
        if (!holds) {
            throw new IllegalArgumentException("layer '" + name + "': " + message
                    + ". Choose another number of tensor parallel ranks, or another size.");
        }
    }
}
