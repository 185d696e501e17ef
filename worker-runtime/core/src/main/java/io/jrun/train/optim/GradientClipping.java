package io.jrun.train.optim;

import io.jrun.train.Libtorch;
import io.jrun.train.mesh.ParameterAxes;
import io.jrun.train.mesh.ShardedNorm;
import io.jrun.train.tensor.DeferredNumber;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Bounds gradients by their global norm: the 2-norm of all gradients as one vector. With DDP all ranks have the same
 * gradients after the synchronised backward pass, so all ranks compute the same norm without communication. The parts
 * of parameters that are divided along an axis, such as those of tensor parallel layers, count on all ranks of the axis:
 * the methods are then collective on the axis, and its ranks pass the same parameters in the same order. Source:
 * Pascanu, Mikolov and Bengio, arXiv:1211.5063; torch's {@code clip_grad_norm_}. On a device a few kernels work on all
 * gradients.
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
        parameters.forEach(GradientClipping::requireGradient);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            return norm(parameters);
        }
    }

    /**
     * Multiplies all gradients by {@code maximum / (norm + 1e-6)} if this factor is less than 1. Gradients that are not
     * finite stay not finite; the caller decides by the returned norm.
     *
     * @param maximum the largest norm, more than 0
     * @return the global norm before the multiplication
     * @throws IllegalArgumentException if this rank has no whole gradients, because a sharded optimizer or wrapper keeps
     *     the gradients; the message names its method
     */
    public static double clipByGlobalNorm(Collection<Tensor> parameters, double maximum) {
        try (PointerScope _ = new PointerScope()) {
            return clip(parameters, maximum).value();
        }
    }

    /**
     * Like {@link #clipByGlobalNorm}. On a device the method queues the work, and does not wait. It waits once if the
     * parameters are divided along an axis.
     *
     * @param maximum the largest norm, more than 0; infinity changes no gradient
     * @return the global norm before the multiplication, in the innermost {@code PointerScope}
     * @throws IllegalArgumentException as {@link #clipByGlobalNorm}
     */
    public static DeferredNumber clip(Collection<Tensor> parameters, double maximum) {
        Libtorch.load();
        double _ = factor(1, maximum); // Throws if the maximum is not more than 0.
        parameters.forEach(GradientClipping::requireGradient);
        try (NoGradGuard _ = new NoGradGuard()) {
            List<Tensor> gradients = gradients(parameters);
            if (DeviceNorm.isOnDevice(gradients) && !isDivided(parameters)) {
                Tensor norm = DeviceNorm.of(gradients);
                if (Double.isFinite(maximum)) {
                    DeviceNorm.scale(gradients, norm, maximum, EPSILON);
                }
                return DeferredNumber.of(norm);
            }
            try (PointerScope _ = new PointerScope()) {
                double norm = norm(parameters);
                scaleToNorm(gradients, norm, maximum);
                return DeferredNumber.of(norm);
            }
        }
    }

    private static boolean isDivided(Collection<Tensor> parameters) {
        return ShardedNorm.groups(parameters).stream().anyMatch(groups -> !groups.isEmpty());
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

    /** A missing gradient counts as zero, also on a rank that holds a part of the parameter without elements. */
    private static double norm(Collection<Tensor> parameters) {
        double[] norms = partNorms(parameters.stream().map(Tensor::mutable_grad).toList());
        return norms.length == 0
                ? 0
                : DeviceWaits.number(torch.linalg_vector_norm(
                        Tensor.create(ShardedNorm.ofWhole(norms, ShardedNorm.groups(parameters)))));
    }

    private static double[] partNorms(List<Tensor> gradients) {
        List<Tensor> defined = gradients.stream().filter(Tensor::defined).toList();
        if (DeviceNorm.isOnDevice(defined)) {
            double[] ofDefined = DeviceWaits.numbers(List.of(DeviceNorm.ofEach(defined)));
            Iterator<Double> next = Arrays.stream(ofDefined).iterator();
            return gradients.stream()
                    .mapToDouble(gradient -> gradient.defined() ? next.next() : 0)
                    .toArray();
        }
        return gradients.stream()
                .mapToDouble(gradient -> gradient.defined()
                        ? DeviceWaits.number(torch.linalg_vector_norm(gradient).to(torch.ScalarType.Double))
                        : 0)
                .toArray();
    }

    private static void requireGradient(Tensor parameter) {
        ParameterAxes.clip(parameter).ifPresent(method -> {
            throw new IllegalArgumentException("a parameter of shape " + TensorMemory.shape(parameter)
                    + " has no whole gradient on this rank. Bound the gradients with " + method + ".");
        });
    }
}
