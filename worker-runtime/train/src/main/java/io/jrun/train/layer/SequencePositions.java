package io.jrun.train.layer;

import java.util.function.LongFunction;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The positions of this rank's tokens in the whole sequence. Without context parallelism the rank has the whole
 * sequence.
 */
public final class SequencePositions extends Module {
    private LongFunction<Tensor> rule =
            length -> torch.arange(new Scalar(length), new TensorOptions(torch.ScalarType.Long));

    /** Positions [length] of type Long, from 0. */
    public Tensor of(long length) {
        return rule.apply(length);
    }

    /** Replaces the rule. The rule gets the number of this rank's tokens. */
    public void setRule(LongFunction<Tensor> newRule) {
        rule = newRule;
    }
}
