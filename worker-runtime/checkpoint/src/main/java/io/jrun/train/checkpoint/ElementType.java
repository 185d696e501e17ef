package io.jrun.train.checkpoint;

import java.util.Optional;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The element types of safetensors that libtorch has too. The order is the order of the reference writer
 * ({@code tensor.rs}, enum Dtype). The writer sorts tensors by type, the last type first, so that the alignment never
 * grows from one tensor to the next. The packed types of 4 and 6 bits (F4, F6_E2M3, F6_E3M2) are not supported.
 */
public enum ElementType {
    BOOL(1, ScalarType.Bool),
    U8(1, ScalarType.Byte),
    I8(1, ScalarType.Char),
    F8_E5M2(1, ScalarType.Float8_e5m2),
    F8_E4M3(1, ScalarType.Float8_e4m3fn),
    F8_E8M0(1, ScalarType.Float8_e8m0fnu),
    F8_E4M3FNUZ(1, ScalarType.Float8_e4m3fnuz),
    F8_E5M2FNUZ(1, ScalarType.Float8_e5m2fnuz),
    I16(2, ScalarType.Short),
    U16(2, ScalarType.UInt16),
    F16(2, ScalarType.Half),
    BF16(2, ScalarType.BFloat16),
    I32(4, ScalarType.Int),
    U32(4, ScalarType.UInt32),
    F32(4, ScalarType.Float),
    C64(8, ScalarType.ComplexFloat),
    F64(8, ScalarType.Double),
    I64(8, ScalarType.Long),
    U64(8, ScalarType.UInt64);

    private final int sizeBytes;
    private final ScalarType torch;

    ElementType(int sizeBytes, ScalarType torch) {
        this.sizeBytes = sizeBytes;
        this.torch = torch;
    }

    /** Bytes of one element. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** libtorch's name of the type. */
    public ScalarType torch() {
        return torch;
    }

    /** The type of libtorch's elements; empty if safetensors has no such type. */
    public static Optional<ElementType> of(ScalarType type) {
        for (ElementType candidate : values()) {
            if (candidate.torch.value == type.value) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }

    /** The type with the name {@code name} in a safetensors header. */
    public static Optional<ElementType> named(String name) {
        for (ElementType candidate : values()) {
            if (candidate.name().equals(name)) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }
}
