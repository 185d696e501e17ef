package io.jrun.train.tensorparallel;

/** The way in which the ranks share one layer. The words are Megatron's; torch's DTensor has ParallelStyles too. */
public sealed interface ParallelStyle {
    /** A linear layer: each rank has some of the outputs. */
    ParallelStyle COLUMN = new Column(0, 1);

    /**
     * A linear layer: each rank has some of the outputs, and then gets those of the other ranks. For the layer of the
     * outputs of a model whose loss needs all of them. Megatron's {@code gather_output}. The numbers of outputs may
     * differ by the rule of {@code torch.chunk}. With sequence parallelism the outputs are those of the whole sequence.
     */
    ParallelStyle GATHERED_COLUMN = new GatheredColumn();

    /** A linear layer after a COLUMN layer: each rank has some of the inputs, and the outputs are summed. */
    ParallelStyle ROW = new Row();

    /**
     * An embedding of tokens, or the linear layer that makes the logits: each rank has some of the tokens. The numbers
     * of tokens may differ by the rule of {@code torch.chunk}, so no padding is needed. The logits may be those of
     * classes, of another number than the tokens. For a {@code TokenLoss}: the logits are parts. A loss of one's own needs {@link #GATHERED_COLUMN}.
     */
    ParallelStyle VOCABULARY = new Vocabulary();

    /**
     * A norm, an embedding of positions or a dropout layer that all ranks hold. Without sequence parallelism nothing
     * changes. With sequence parallelism each rank uses the layer for its part of the sequence, and the gradients are
     * summed. The mask of a dropout layer is this rank's part of the mask of the whole sequence.
     */
    ParallelStyle SEQUENCE = new Sequence();

    /** A dropout layer between COLUMN and ROW layers: the masks of the ranks differ. */
    ParallelStyle DISTINCT = new Distinct();

    /** As {@link #COLUMN}, for queries, keys or values: each rank has whole heads. */
    static ParallelStyle heads(long count) {
        return new Column(count, 1);
    }

    /** As {@link #heads} for a layer that makes queries, keys and values of as many heads each, one after the other. */
    static ParallelStyle jointHeads(long count) {
        return new Column(count, 3);
    }

    /**
     * See {@link #COLUMN}.
     *
     * @param heads number of heads of each section; 0 if the outputs are no heads
     * @param sections equal sections of the outputs, each shared by itself
     */
    record Column(long heads, int sections) implements ParallelStyle {}

    /** See {@link #GATHERED_COLUMN}. */
    record GatheredColumn() implements ParallelStyle {}

    /** See {@link #ROW}. */
    record Row() implements ParallelStyle {}

    /** See {@link #VOCABULARY}. */
    record Vocabulary() implements ParallelStyle {}

    /** See {@link #SEQUENCE}. */
    record Sequence() implements ParallelStyle {}

    /** See {@link #DISTINCT}. */
    record Distinct() implements ParallelStyle {}
}
