package io.jrun.models.transformer;

import io.jrun.train.layer.Norm;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.module.PipelineLayer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The computation of a decoder around its blocks: an embedding, a norm and an output layer.
 *
 * @param embedding vectors [B, S, D] of token numbers [B, S]
 * @param tokens the embedding of the tokens; without a {@code head} the output layer has its matrix
 * @param head the output layer's own matrix; null without one
 */
public record DecoderStack(
        UnaryOperator<Tensor> embedding,
        Norm norm,
        TokenEmbedding tokens,
        @Nullable Projection head) {
    /** The same computation with an output layer of its own. */
    public DecoderStack withHead(Projection newHead) {
        return new DecoderStack(embedding, norm, tokens, newHead);
    }

    /** Logits [B, S, V] of token numbers [B, S], through blocks from [B, S, D] to [B, S, D]. */
    public Tensor forward(List<ModelBlock> blocks, Tensor tokens_BS) {
        Tensor x_BSD = embedding.apply(tokens_BS);
        for (ModelBlock block : blocks) {
            x_BSD = block.forward(x_BSD);
        }
        return logits(x_BSD);
    }

    private Tensor logits(Tensor x_BSD) {
        Tensor normed = norm.forward(x_BSD);
        return head == null ? tokens.logits(normed) : head.forward(normed);
    }

    /**
     * The layers of a pipeline: the embedding, each block, and the output layer.
     *
     * @param names the names of parts in the model
     */
    public List<PipelineLayer> pipelineLayers(LanguageModel model, PartNames names) {
        List<PipelineLayer> layers = new ArrayList<>();
        String[] embeddings = Stream.concat(Stream.of(names.tokens()), names.otherEmbeddings().stream())
                .map(name -> name + ".")
                .toArray(String[]::new);
        layers.add(model.pipelineLayer("embedding", embedding, embeddings));
        model.blocks().forEach(block -> layers.add(block.layer()));
        String matrix = head == null ? names.tokens() : names.head();
        layers.add(model.pipelineLayer("head", this::logits, names.norm() + ".", matrix + "."));
        return layers;
    }

    /** The names of a decoder's parts in its model, such as {@code model.norm}. */
    public record PartNames(String tokens, List<String> otherEmbeddings, String norm, String head) {
        /** Copies the list. */
        public PartNames {
            otherEmbeddings = List.copyOf(otherEmbeddings);
        }
    }
}
