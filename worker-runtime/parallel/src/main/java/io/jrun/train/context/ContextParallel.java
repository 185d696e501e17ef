package io.jrun.train.context;

import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.AttentionOperation;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.SequencePositions;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.SameInputs;
import io.jrun.train.module.BlockModel;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.pytorch.Tensor;

/**
 * Makes several ranks share each sequence. Each rank gets its own tokens of a batch ({@link #tokens}), and the
 * attention layers of the model exchange keys, values or heads. All ranks have all parameters: average the gradients
 * over the ranks of this axis and of the data axis together.
 */
public final class ContextParallel {
    private final MeshAxis axis;
    private final SequenceSplit split;
    private final SameInputs check;
    /** Whether the program has asked for the division of the sequences. */
    private boolean isDivided;

    private ContextParallel(MeshAxis axis, SequenceSplit split) {
        this.axis = axis;
        this.split = split;
        this.check = new SameInputs(axis);
    }

    /** The way in which attention reaches the keys of other ranks. */
    public enum Exchange {
        /** Keys and values travel from rank to rank; causal work is balanced by a zigzag split. Any number of heads. */
        RING,
        /** All keys and values are gathered; causal work is balanced by a zigzag split. Any number of heads. */
        ALL_GATHER,
        /** Each rank computes whole sequences of some heads. The number of ranks divides the key heads. */
        ULYSSES
    }

    /**
     * Replaces the attention, the positions and the count of tokens of a model.
     *
     * @param model a model of the layers of {@code io.jrun.train.layer}
     * @param axis the ranks that share each sequence
     * @param averaged the ranks over which gradients are averaged: those of the context and of the data axes
     * @throws IllegalStateException if the model is not built
     * @throws IllegalArgumentException if ranks share the sequences of the model already
     */
    public static ContextParallel apply(CompositeModule model, MeshAxis axis, MeshAxis averaged, Exchange exchange) {
        BlockModel.requireBuilt(model);
        SequenceSplit split = new SequenceSplit(axis.size(), axis.size() > 1 && exchange != Exchange.ULYSSES);
        ContextParallel parallel = new ContextParallel(axis, split);
        if (axis.size() == 1) {
            return parallel;
        }
        Parameters.of(model).values().stream()
                .flatMap(parameter -> parameter.averaged().stream())
                .findFirst()
                .ifPresent(before -> {
                    throw new IllegalArgumentException("the ranks of the axis '" + before.name()
                            + "' share the sequences of the model already. Apply ContextParallel once.");
                });
        ParameterNotes.setAveraged(ModuleTensors.parameters(model).values(), axis, model);
        AttentionOperation attention = switch (exchange) {
            case RING -> new ExchangedAttention(split, axis.coordinate(), new RingExchange(axis));
            case ALL_GATHER -> new ExchangedAttention(split, axis.coordinate(), new GatherExchange(axis));
            case ULYSSES -> new UlyssesAttention(axis);
        };
        model.descendants(AttentionLayer.class).values().forEach(layer -> layer.setOperation(attention));
        model.descendants(SequencePositions.class).values().forEach(layer -> layer.setRule(parallel::positionsOfPart));
        model.descendants(TokenLoss.class).values().forEach(layer -> layer.countTokensOf(averaged.group()));
        return parallel;
    }

    /** The split of the sequences. */
    public SequenceSplit split() {
        return split;
    }

    /** Tells this object that the program divides the sequences itself, by {@link #split} in place of {@link #tokens}. */
    public void setDividedByCaller() {
        isDivided = true;
    }

    /**
     * This rank's tokens of whole sequences. Collective in the first call, which compares the tokens of the ranks.
     *
     * @param whole_BS the same on all ranks of the axis
     * @throws IllegalArgumentException if the length does not divide; the message has the numbers. Also if ranks have
     *     different tokens
     */
    public Tensor tokens(Tensor whole_BS) {
        isDivided = true;
        if (axis.size() > 1) {
            check.require(whole_BS);
        }
        return whole_BS.index_select(1, positions(split.localLength(whole_BS.size(1)), whole_BS));
    }

    private Tensor positionsOfPart(long localLength, Tensor like) {
        if (!isDivided) {
            throw new IllegalStateException("the model computes with ContextParallel, but the program did not divide a"
                    + " sequence. Give the model context.tokens(tokens), and the loss context.tokens(targets). A program that divides"
                    + " by context.split() calls context.setDividedByCaller().");
        }
        return positions(localLength, like);
    }

    private Tensor positions(long localLength, Tensor like) {
        long[] positions = split.positions(localLength * axis.size(), axis.coordinate());
        return DeviceTensors.of(TensorMemory.device(like), positions, positions.length);
    }
}
