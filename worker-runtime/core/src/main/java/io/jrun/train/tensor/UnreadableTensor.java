package io.jrun.train.tensor;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.StringOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** Tensors that have a type and a shape, and no values. */
public final class UnreadableTensor {
    private UnreadableTensor() {}

    /** A scalar; libtorch throws an exception with {@code why} when an operation reads the value. */
    public static Tensor of(torch.ScalarType type, String why) {
        Tensor scalar = torch.empty(new long[0], new TensorOptions(type), new MemoryFormatOptional());
        scalar.unsafeGetTensorImpl()
                .storage()
                .unsafeGetStorageImpl()
                .release_data_and_set_meta_custom_data_ptr_error_msg_(new StringOptional(new BytePointer(why)));
        return scalar;
    }
}
