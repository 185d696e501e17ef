package io.jrun.train.tensorparallel;

import io.jrun.train.autograd.DeferredGradients;
import io.jrun.train.layer.LinearLayer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** The gradients of {@code y = x W^T}, in the type of the gradient of y. */
final class LinearGradients {
    private LinearGradients() {}

    /** The gradient of x: a new tensor. */
    static Tensor inputGradient(Tensor gradient, Tensor matrix) {
        return gradient.matmul(matrix.to(gradient.scalar_type().intern()));
    }

    /** The gradient of W, of the type of W. Null if it is put off. */
    static @Nullable Tensor weightGradient(Tensor gradient, Tensor x, Tensor matrix, @Nullable LaterWeight later) {
        Tensor rows = gradient.reshape(-1, gradient.size(-1));
        Tensor inputs = x.to(gradient.scalar_type().intern()).reshape(-1, x.size(-1));
        if (later != null) {
            later.gradients().add(later.weight(), null, later.isTransposed(), inputs, rows);
            return null;
        }
        return torch.mm(rows.t(), inputs).to(matrix.scalar_type().intern());
    }

    /**
     * A weight whose gradient a pipeline puts off.
     *
     * @param weight the leaf: W, or W^T if {@code isTransposed}
     */
    record LaterWeight(DeferredGradients gradients, Tensor weight, boolean isTransposed) {
        /** The weight of a layer; null if no pipeline puts gradients off. */
        static @Nullable LaterWeight of(LinearLayer layer) {
            return of(layer.weight(), layer.layout() == LinearLayer.Layout.CONV1D);
        }

        static @Nullable LaterWeight of(Tensor weight, boolean isTransposed) {
            DeferredGradients gradients = DeferredGradients.current();
            return gradients == null || !weight.requires_grad()
                    ? null
                    : new LaterWeight(gradients, weight, isTransposed);
        }
    }
}
