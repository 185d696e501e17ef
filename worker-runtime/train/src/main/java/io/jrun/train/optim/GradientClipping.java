package io.jrun.train.optim;

import io.jrun.train.Libtorch;
import java.util.Collection;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Bounds gradients by their global norm: the 2-norm of all gradients as one vector. With DDP all ranks have the same
 * gradients after the synchronised backward pass, so all ranks compute the same norm without communication. Source:
 * Pascanu, Mikolov and Bengio, arXiv:1211.5063; torch's {@code clip_grad_norm_}.
 */
public final class GradientClipping {
    /** torch's constant, which prevents a division by zero. */
    private static final double EPSILON = 1e-6;

    private GradientClipping() {}

    /**
     * The global norm of the parameters' gradients. A missing gradient counts as zero. The norm may be infinite or not
     * a number.
     */
    public static double globalNorm(Collection<Tensor> parameters) {
        Libtorch.load();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            return norm(gradients(parameters));
        }
    }

    /**
     * Multiplies all gradients by {@code maximum / (norm + 1e-6)} if this factor is less than 1. Gradients that are not
     * finite stay not finite; the caller decides by the returned norm.
     *
     * @param maximum the largest norm, more than 0
     * @return the global norm before the multiplication
     */
    public static double clipByGlobalNorm(Collection<Tensor> parameters, double maximum) {
        Libtorch.load();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            List<Tensor> gradients = gradients(parameters);
            double norm = norm(gradients);
            scaleToNorm(gradients, norm, maximum);
            return norm;
        }
    }

    /**
     * Multiplies gradients by {@link #factor} if the factor is less than 1. For gradients of which other ranks have a
     * part; {@code norm} is the norm of all parts.
     *
     * @param maximum the largest norm, more than 0
     */
    public static void scaleToNorm(Collection<Tensor> gradients, double norm, double maximum) {
        double factor = factor(norm, maximum);
        if (factor < 1) {
            try (NoGradGuard _ = new NoGradGuard();
                    Scalar scalar = new Scalar(factor)) {
                gradients.forEach(gradient -> gradient.mul_(scalar));
            }
        }
    }

    /**
     * The factor that bounds gradients of this norm: {@code maximum / (norm + 1e-6)}. Values of 1 and more change
     * nothing.
     *
     * @param maximum the largest norm, more than 0
     */
    public static double factor(double norm, double maximum) {
        if (!(maximum > 0)) {
            throw new IllegalArgumentException("the largest norm must be more than 0, not " + maximum);
        }
        return maximum / (norm + EPSILON);
    }

    private static List<Tensor> gradients(Collection<Tensor> parameters) {
        return parameters.stream()
                .map(Tensor::mutable_grad)
                .filter(Tensor::defined)
                .toList();
    }

    private static double norm(List<Tensor> gradients) {
        if (gradients.isEmpty()) {
            return 0;
        }
        Tensor[] norms = gradients.stream()
                .map(gradient -> torch.linalg_vector_norm(gradient).to(torch.ScalarType.Double))
                .toArray(Tensor[]::new);
        return torch.linalg_vector_norm(torch.stack(new TensorVector(norms))).item_double();
    }
}
