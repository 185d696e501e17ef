package io.jrun.train.fsdp;

import io.jrun.comm.DataType;
import io.jrun.train.tensor.TensorTypes;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The types in which a unit computes and communicates. The shards keep the type that the parameters had. torch's
 * {@code MixedPrecisionPolicy}.
 *
 * @param parameterType type in which parameters are gathered and used; null for the type of the shards
 * @param reduceType type in which gradients travel and are added; null for {@code parameterType}
 * @param outputType type of a unit's output; null for the type that the unit computes
 * @param castsInputs whether a floating point input of a unit is converted to {@code parameterType}
 */
public record MixedPrecisionPolicy(
        @Nullable DataType parameterType,
        @Nullable DataType reduceType,
        @Nullable DataType outputType,
        boolean castsInputs) {
    /** Everything in the type of the shards. */
    public static final MixedPrecisionPolicy NONE = new MixedPrecisionPolicy(null, null, null, false);

    /** Computes and gathers in bfloat16, adds gradients in float32. Outputs have the type bfloat16. */
    public static final MixedPrecisionPolicy BFLOAT16 =
            new MixedPrecisionPolicy(DataType.BF16, DataType.F32, null, true);

    public MixedPrecisionPolicy {
        requireFloat(parameterType);
        requireFloat(reduceType);
        requireFloat(outputType);
    }

    /** The input of a unit in the type in which the unit computes. */
    Tensor toUnitType(Tensor x) {
        return parameterType == null || !castsInputs || !x.is_floating_point()
                ? x
                : x.to(TensorTypes.scalarType(parameterType));
    }

    /** The output of a unit in the type of outputs. */
    Tensor toOutputType(Tensor x) {
        return outputType == null || !x.is_floating_point() ? x : x.to(TensorTypes.scalarType(outputType));
    }

    private static void requireFloat(@Nullable DataType type) {
        if (type != null && !type.isFloat()) {
            throw new IllegalArgumentException("mixed precision needs a floating point type, not " + type);
        }
    }
}
