package io.jrun.train.optim;

import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Adam with decoupled weight decay: torch's {@code AdamW(fused=True)}. Source: Loshchilov and Hutter, arXiv:1711.05101.
 *
 * @param beta1 decay of the mean of gradients, 0 to 1
 * @param beta2 decay of the mean of squared gradients, 0 to 1
 * @param epsilon added to the denominator
 */
public record FusedAdamW(double beta1, double beta2, double epsilon) implements UpdateRule {
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
    public void apply(
            List<Tensor> parameters,
            List<Tensor> gradients,
            List<List<Tensor>> states,
            long stepsBefore,
            double learningRate,
            double weightDecay) {
        try (PointerScope _ = new PointerScope()) {
            Tensor steps = torch.scalar_tensor(new Scalar(stepsBefore + 1), new TensorOptions(torch.ScalarType.Float));
            FusedKernel.ADAMW.call(
                    FusedKernel.list(parameters),
                    FusedKernel.list(gradients),
                    FusedKernel.list(states.get(0)),
                    FusedKernel.list(states.get(1)),
                    FusedKernel.list(List.of()),
                    FusedKernel.list(parameters.stream().map(_ -> steps).toList()),
                    FusedKernel.number(learningRate),
                    FusedKernel.number(beta1),
                    FusedKernel.number(beta2),
                    FusedKernel.number(weightDecay),
                    FusedKernel.number(epsilon),
                    FusedKernel.flag(false),
                    FusedKernel.flag(false),
                    FusedKernel.none(),
                    FusedKernel.none());
        }
    }
}
