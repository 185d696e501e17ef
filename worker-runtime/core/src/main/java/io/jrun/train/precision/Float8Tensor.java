package io.jrun.train.precision;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A matrix as 8-bit codes with one scale. The value of an element is its code times {@code inverseScale}.
 *
 * @param codes [rows, columns] of a type of {@link Float8}, row-major
 * @param inverseScale float32, [1], on the device of the codes
 */
public record Float8Tensor(Tensor codes, Tensor inverseScale) {
    /** Makes the codes row-major: by a copy, if they are not. */
    public Float8Tensor {
        codes = codes.contiguous();
    }

    /** The transposed matrix, also row-major: a copy of the codes. */
    Float8Tensor transposed() {
        return new Float8Tensor(codes.t(), inverseScale);
    }

    /** The codes as float32, without the scale. */
    Tensor numbers() {
        return codes.to(torch.ScalarType.Float);
    }
}
