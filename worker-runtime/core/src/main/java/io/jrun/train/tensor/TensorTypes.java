package io.jrun.train.tensor;

import io.jrun.comm.DataType;
import java.util.Optional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The element types that both libtorch and the process groups know. Stateless. */
public final class TensorTypes {
    private TensorTypes() {}

    /** The type of a tensor's elements; empty if no process group knows the type. */
    public static Optional<DataType> of(Tensor tensor) {
        return Optional.ofNullable(
                switch (tensor.scalar_type().intern()) {
                    case Half -> DataType.F16;
                    case BFloat16 -> DataType.BF16;
                    case Float -> DataType.F32;
                    case Double -> DataType.F64;
                    case Char -> DataType.I8;
                    case Byte -> DataType.U8;
                    case Int -> DataType.I32;
                    case Long -> DataType.I64;
                    case Bool -> DataType.BOOL;
                    default -> null;
                });
    }

    /** libtorch's name of a type. */
    public static ScalarType scalarType(DataType type) {
        return switch (type) {
            case F16 -> ScalarType.Half;
            case BF16 -> ScalarType.BFloat16;
            case F32 -> ScalarType.Float;
            case F64 -> ScalarType.Double;
            case I8 -> ScalarType.Char;
            case U8 -> ScalarType.Byte;
            case I32 -> ScalarType.Int;
            case I64 -> ScalarType.Long;
            case BOOL -> ScalarType.Bool;
        };
    }
}
