package io.jrun.models.transformer;

import io.jrun.train.layer.Norm;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.module.PipelineLayer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The computation of a decoder: an embedding, blocks, a norm and an output layer.
 *
 * @param embedding vectors [B, S, D] of token numbers [B, S]
 * @param blocks each from [B, S, D] to [B, S, D]
 * @param tokens the embedding of the tokens; without a {@code head} the output layer has its matrix
 * @param head the output layer's own matrix; null without one
 */
public record DecoderStack(
        UnaryOperator<Tensor> embedding,
        List<UnaryOperator<Tensor>> blocks,
        Norm norm,
        TokenEmbedding tokens,
        @Nullable Projection head) {
    /** Copies the list. */
    public DecoderStack {
        blocks = List.copyOf(blocks);
    }

    /** The same computation with an output layer of its own. */
    public DecoderStack withHead(Projection newHead) {
        return new DecoderStack(embedding, blocks, norm, tokens, newHead);
    }

    /** The same computation with other code for block {@code i}, which is the {@code i}-th result of {@code wrap}. */
    public DecoderStack withBlocks(IntFunction<UnaryOperator<Tensor>> wrap) {
        return new DecoderStack(
                embedding, IntStream.range(0, blocks.size()).mapToObj(wrap).toList(), norm, tokens, head);
    }

    /** Logits [B, S, V] of token numbers [B, S]. */
    public Tensor forward(Tensor tokens_BS) {
        Tensor x_BSD = embedding.apply(tokens_BS);
        for (UnaryOperator<Tensor> block : blocks) {
            x_BSD = block.apply(x_BSD);
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
     * @param block the name of a block, before its number
     * @param names the names of parts in the model
     */
    public List<PipelineLayer> pipelineLayers(LanguageModel model, String block, PartNames names) {
        List<PipelineLayer> layers = new ArrayList<>();
        String[] embeddings = Stream.concat(Stream.of(names.tokens()), names.otherEmbeddings().stream())
                .map(name -> name + ".")
                .toArray(String[]::new);
        layers.add(model.pipelineLayer("embedding", embedding, embeddings));
        for (int i = 0; i < blocks.size(); i++) {
            layers.add(model.pipelineLayer(block + i, blocks.get(i), names.blocks() + "." + i + "."));
        }
        String matrix = head == null ? names.tokens() : names.head();
        layers.add(model.pipelineLayer("head", this::logits, names.norm() + ".", matrix + "."));
        return layers;
    }

    /** The names of a decoder's parts in its model, such as {@code model.norm}. */
    public record PartNames(String tokens, List<String> otherEmbeddings, String blocks, String norm, String head) {
        /** Copies the list. */
        public PartNames {
            otherEmbeddings = List.copyOf(otherEmbeddings);
        }
    }
}
