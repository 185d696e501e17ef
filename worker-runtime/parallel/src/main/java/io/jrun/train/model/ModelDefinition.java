package io.jrun.train.model;

import io.jrun.comm.World;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** A model before it is built. Confined to one thread. */
public interface ModelDefinition {
    /** The shape in words. A checkpoint of another shape is refused. */
    String summary();

    /** The number of equal blocks. A pipeline has one layer before the blocks and one behind them. */
    int blockCount();

    /** Builds the model. Each block goes to {@code built} before the next block takes memory. */
    TrainableModel build(Consumer<ModelBlock> built);

    /**
     * Builds the whole model with values of its own, such as those of a file; empty if the model begins with the values
     * that the program gives. Collective.
     */
    default Optional<TrainableModel> load(World world) {
        return Optional.empty();
    }

    /** The plan by which tensor parallel ranks share the layers; empty if they cannot share them. */
    Map<String, ParallelStyle> tensorParallelPlan();

    /**
     * Whether ranks can share a sequence: the positions of a text meet in {@code AttentionLayer} alone, and the model takes
     * their numbers from {@code SequencePositions}. A model for which this is false is not trained with {@code --cp} and
     * {@code --sequence-parallel}.
     */
    default boolean sharesSequences() {
        return false;
    }

    /** The size of the hidden state, to count the operations of attention; 0 if the model has no attention. */
    default long width() {
        return 0;
    }

    /** The heads of keys and values, which the exchange {@code ulysses} divides; empty if they are not known. */
    default OptionalLong keyHeads() {
        return OptionalLong.empty();
    }

    /** Bytes of the parameters in float32, within a tenth; 0 if the number is not known. */
    default double parameterBytes() {
        return 0;
    }

    /** Bytes of the largest output of a layer for a token in float32; 0 if the number is not known. */
    default double outputBytes() {
        return 0;
    }
}
