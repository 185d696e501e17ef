package io.jrun.train.precision;

import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Floating point numbers of 8 bits: the formats of Micikevicius and others, arXiv:2209.05433. */
public enum Float8 {
    /** 4 bits of exponent, 3 of fraction, no infinity: for weights and activations. */
    E4M3(448, torch.ScalarType.Float8_e4m3fn),
    /** 5 bits of exponent, 2 of fraction: for gradients. */
    E5M2(57_344, torch.ScalarType.Float8_e5m2);

    private final float largest;
    private final torch.ScalarType type;

    Float8(float largest, torch.ScalarType type) {
        this.largest = largest;
        this.type = type;
    }

    /** The largest finite number. */
    public float largest() {
        return largest;
    }

    /**
     * The tensor's values as 8-bit codes, rounded to the nearest value, ties to even. A value beyond the range becomes
     * the largest value.
     */
    public Tensor encode(Tensor values) {
        return values.to(torch.ScalarType.Float)
                .clamp(new ScalarOptional(new Scalar(-largest)), new ScalarOptional(new Scalar(largest)))
                .to(type);
    }
}
