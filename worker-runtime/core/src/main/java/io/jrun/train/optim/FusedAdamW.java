package io.jrun.train.optim;

import io.jrun.train.tensor.AtenOperator;
import io.jrun.train.tensor.DeviceTensors;
import java.util.Collections;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Adam with decoupled weight decay: torch's {@code AdamW(fused=True)}. Source: Loshchilov and Hutter, arXiv:1711.05101.
 *
 * @param beta1 decay of the mean of gradients, 0 to 1
 * @param beta2 decay of the mean of squared gradients, 0 to 1
 * @param epsilon added to the denominator
 */
public record FusedAdamW(double beta1, double beta2, double epsilon) implements UpdateRule {
    private static final AtenOperator KERNEL = AtenOperator.of("aten::_fused_adamw_", "");

    /** torch's defaults: 0.9, 0.999, 1e-8. */
    public static final FusedAdamW DEFAULT = new FusedAdamW(0.9, 0.999, 1e-8);

    public FusedAdamW {
        if (!(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1)) {
            throw new IllegalArgumentException(
                    "beta1 and beta2 must be 0 or more and less than 1, not " + beta1 + ", " + beta2);
        }
        if (!(epsilon >= 0)) {
            throw new IllegalArgumentException("epsilon must be 0 or more, not " + epsilon);
        }
    }

    @Override
    public FusedAdamW withMomentum(double momentum) {
        return new FusedAdamW(momentum, beta2, epsilon);
    }

    @Override
    public List<String> stateNames() {
        return List.of("exp_avg", "exp_avg_sq");
    }

    @Override
    public void apply(List<Tensor> parameters, List<Tensor> gradients, List<List<Tensor>> states, UpdateStep step) {
        try (PointerScope _ = new PointerScope()) {
            KERNEL.call(
                    AtenOperator.list(parameters),
                    AtenOperator.list(gradients),
                    AtenOperator.list(states.get(0)),
                    AtenOperator.list(states.get(1)),
                    AtenOperator.list(List.of()),
                    AtenOperator.list(counts(parameters, step)),
                    AtenOperator.number(step.learningRate()),
                    AtenOperator.number(beta1),
                    AtenOperator.number(beta2),
                    AtenOperator.number(step.weightDecay()),
                    AtenOperator.number(epsilon),
                    AtenOperator.flag(false),
                    AtenOperator.flag(false),
                    AtenOperator.none(),
                    UpdateRule.skip(step));
        }
    }

    private static List<Tensor> counts(List<Tensor> parameters, UpdateStep step) {
        List<Tensor> counts = step.counts();
        return counts != null
                ? counts
                : Collections.nCopies(
                        parameters.size(),
                        torch.scalar_tensor(
                                new Scalar(step.before() + 1),
                                DeviceTensors.optionsLike(parameters.getFirst(), torch.ScalarType.Float)));
    }
}
