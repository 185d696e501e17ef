package io.jrun.train.layer;

import io.jrun.train.tensor.DeviceTensors;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * The positions of this rank's tokens in the whole sequence. Without context parallelism the rank has the whole
 * sequence.
 */
public final class SequencePositions extends Module {
    private Rule rule = DeviceTensors::range;

    /** The positions of this rank's tokens. */
    @FunctionalInterface
    public interface Rule {
        /**
         * Positions [length] of type Long.
         *
         * @param length the number of this rank's tokens
         * @param like a tensor on the device of the result
         */
        Tensor of(long length, Tensor like);
    }

    /** Positions [length] of type Long, from 0, on the device of {@code like}. */
    public Tensor of(long length, Tensor like) {
        return rule.of(length, like);
    }

    /** Replaces the rule. */
    public void setRule(Rule newRule) {
        rule = newRule;
    }
}
