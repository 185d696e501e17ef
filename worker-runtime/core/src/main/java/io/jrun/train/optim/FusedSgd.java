package io.jrun.train.optim;

import io.jrun.train.tensor.AtenOperator;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * Gradient descent with momentum: torch's {@code SGD(fused=True)}.
 *
 * @param momentum 0 for none
 * @param nesterov whether the step uses Nesterov's momentum; needs a momentum of more than 0
 */
public record FusedSgd(double momentum, boolean nesterov) implements UpdateRule {
    private static final AtenOperator KERNEL = AtenOperator.of("aten::_fused_sgd_", "");

    /** Plain gradient descent. */
    public static final FusedSgd PLAIN = new FusedSgd(0, false);

    public FusedSgd {
        if (!(momentum >= 0 && momentum < 1)) {
            throw new IllegalArgumentException("momentum must be 0 or more and less than 1, not " + momentum);
        }
        if (nesterov && momentum == 0) {
            throw new IllegalArgumentException("nesterov needs a momentum of more than 0");
        }
    }

    @Override
    public FusedSgd withMomentum(double newMomentum) {
        if (momentum == 0) {
            throw new IllegalArgumentException("the schedule changes the momentum, but this SGD has none: give"
                    + " new FusedSgd(momentum, nesterov) with a momentum of more than 0");
        }
        return new FusedSgd(newMomentum, nesterov);
    }

    @Override
    public List<String> stateNames() {
        return momentum == 0 ? List.of() : List.of("momentum_buffer");
    }

    @Override
    public void apply(List<Tensor> parameters, List<Tensor> gradients, List<List<Tensor>> states, UpdateStep step) {
        try (PointerScope _ = new PointerScope()) {
            KERNEL.call(
                    AtenOperator.list(parameters),
                    AtenOperator.list(gradients),
                    AtenOperator.list(momentum == 0 ? List.of() : states.getFirst()),
                    AtenOperator.number(step.weightDecay()),
                    AtenOperator.number(momentum),
                    AtenOperator.number(step.learningRate()),
                    AtenOperator.number(0),
                    AtenOperator.flag(nesterov),
                    AtenOperator.flag(false),
                    AtenOperator.flag(step.before() == 0),
                    AtenOperator.none(),
                    UpdateRule.skip(step));
        }
    }
}
