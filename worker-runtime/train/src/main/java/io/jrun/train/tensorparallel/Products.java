package io.jrun.train.tensorparallel;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The products in the backward pass of {@code y = x W^T}, in the type of the gradient of y. */
final class Products {
    private Products() {}

    /** The gradient of x: a new tensor. */
    static Tensor inputGradient(Tensor gradient, Tensor matrix) {
        return gradient.matmul(matrix.to(gradient.scalar_type().intern()));
    }

    /** The gradient of W, of the type of W. */
    static Tensor weightGradient(Tensor gradient, Tensor x, Tensor matrix) {
        Tensor rows = gradient.reshape(-1, gradient.size(-1));
        Tensor inputs = x.to(gradient.scalar_type().intern()).reshape(-1, x.size(-1));
        return torch.mm(rows.t(), inputs).to(matrix.scalar_type().intern());
    }
}
