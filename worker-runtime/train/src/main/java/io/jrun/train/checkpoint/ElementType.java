package io.jrun.train.checkpoint;

import java.util.Optional;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The element types of safetensors that libtorch has too. The order is the reference writer's ({@code tensor.rs}, enum
 * Dtype): it sorts tensors by it, highest first, so that alignment only ever falls.
 */
enum ElementType {
    BOOL(1, ScalarType.Bool),
    U8(1, ScalarType.Byte),
    I8(1, ScalarType.Char),
    I16(2, ScalarType.Short),
    F16(2, ScalarType.Half),
    BF16(2, ScalarType.BFloat16),
    I32(4, ScalarType.Int),
    F32(4, ScalarType.Float),
    F64(8, ScalarType.Double),
    I64(8, ScalarType.Long);

    private final int sizeBytes;
    private final ScalarType torch;

    ElementType(int sizeBytes, ScalarType torch) {
        this.sizeBytes = sizeBytes;
        this.torch = torch;
    }

    int sizeBytes() {
        return sizeBytes;
    }

    ScalarType torch() {
        return torch;
    }

    static Optional<ElementType> of(ScalarType type) {
        for (ElementType candidate : values()) {
            if (candidate.torch.value == type.value) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }

    static Optional<ElementType> named(String name) {
        for (ElementType candidate : values()) {
            if (candidate.name().equals(name)) {
                return Optional.of(candidate);
            }
        }
        return Optional.empty();
    }
}
