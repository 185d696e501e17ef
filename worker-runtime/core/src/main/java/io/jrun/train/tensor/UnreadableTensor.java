package io.jrun.train.tensor;

import io.jrun.comm.Device;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.StringOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Tensors that have a type and a shape, and no values. */
public final class UnreadableTensor {
    private UnreadableTensor() {}

    /** A scalar of a device; libtorch throws an exception with {@code why} when an operation reads the value. */
    public static Tensor of(Device device, torch.ScalarType type, String why) {
        Tensor scalar = torch.empty(new long[0], TensorMemory.options(device, type), new MemoryFormatOptional());
        scalar.unsafeGetTensorImpl()
                .storage()
                .unsafeGetStorageImpl()
                .release_data_and_set_meta_custom_data_ptr_error_msg_(new StringOptional(new BytePointer(why)));
        return scalar;
    }
}
