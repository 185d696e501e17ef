package io.jrun.train.tensorparallel;

import java.util.Map;

/**
 * The plan of a transformer of the usual parts, by their names in a {@code LayeredModel}: {@code embedding} is a
 * {@code TextEmbedding}, each block has {@code norm1}, {@code attention} (a {@code SelfAttention}), {@code norm2} and
 * {@code feedForward} (a {@code FeedForward}), and {@code head} makes the logits. Stateless.
 */
public final class TransformerPlan {
    private TransformerPlan() {}

    /**
     * The styles of the layers, by their names.
     *
     * @param heads of each attention
     */
    public static Map<String, ParallelStyle> of(long heads) {
        return Map.of(
                "embedding.tokens", ParallelStyle.VOCABULARY,
                "embedding.positions", ParallelStyle.SEQUENCE,
                "block*.norm*", ParallelStyle.SEQUENCE,
                "block*.attention.qkv", ParallelStyle.jointHeads(heads),
                "block*.attention.out", ParallelStyle.ROW,
                "block*.feedForward.up", ParallelStyle.COLUMN,
                "block*.feedForward.down", ParallelStyle.ROW,
                "head", ParallelStyle.VOCABULARY,
                "loss", ParallelStyle.VOCABULARY);
    }
}
