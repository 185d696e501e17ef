package io.jrun.train.tensorparallel;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * The plan of a transformer of the usual parts, by their names in a {@code LayeredModel}: {@code embedding} is a
 * {@code TextEmbedding}, each block has {@code norm1}, {@code attention} (a {@code SelfAttention}), {@code norm2} and
 * {@code feedForward} (a {@code FeedForward}), and {@code head} is a {@code TextHead}. Stateless.
 */
public final class TransformerPlan {
    private TransformerPlan() {}

    /**
     * The styles of the layers, by their names. The logits of a rank are those of some tokens, for a {@code TokenLoss}.
     *
     * @param heads of each attention
     */
    public static Map<String, ParallelStyle> of(long heads) {
        Map<String, ParallelStyle> plan = ofLayers(heads);
        plan.put("head.logits", ParallelStyle.VOCABULARY);
        plan.put("loss", ParallelStyle.VOCABULARY);
        return Map.copyOf(plan);
    }

    /**
     * As {@link #of}, but each rank gets the logits of all tokens, for a loss of one's own.
     *
     * @param heads of each attention
     */
    public static Map<String, ParallelStyle> withWholeLogits(long heads) {
        Map<String, ParallelStyle> plan = ofLayers(heads);
        plan.put("head.logits", ParallelStyle.GATHERED_COLUMN);
        return Map.copyOf(plan);
    }

    /** A sentence on the names of this plan, for an error; empty if {@code names} are those of another plan. */
    static String advice(Set<String> names) {
        return names.containsAll(ofLayers(1).keySet())
                ? ". transformer(heads) gives this plan. It needs a TextEmbedding 'embedding', in each block 'norm1',"
                        + " 'attention' (SelfAttention), 'norm2' and 'feedForward' (FeedForward), and a TextHead 'head'."
                        + " For other names override tensorParallelPlan()."
                : "";
    }

    private static Map<String, ParallelStyle> ofLayers(long heads) {
        return new HashMap<>(Map.of(
                "embedding.tokens", ParallelStyle.VOCABULARY,
                "embedding.positions", ParallelStyle.SEQUENCE,
                "block*.norm*", ParallelStyle.SEQUENCE,
                "head.norm", ParallelStyle.SEQUENCE,
                "block*.attention.qkv", ParallelStyle.jointHeads(heads),
                "block*.attention.out", ParallelStyle.ROW,
                "block*.feedForward.up", ParallelStyle.COLUMN,
                "block*.feedForward.down", ParallelStyle.ROW));
    }
}
