package io.jrun.train.tensor;

import io.jrun.comm.Device;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.StringOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** Tensors that have a type and a shape, and no values. */
public final class UnreadableTensor {
    private static final String ENDED_PASS =
            "a model uses a TensorOptional, or the state of an LSTM, of an earlier pass. The ends of a block, of the"
                    + " loss and of a step free the memory of those that were created in them. One in a field lives on if"
                    + " the field has TensorMemory.own(optional) or TensorMemory.own(state); close that one after its last"
                    + " use. Detach the tensors of a state first.";

    /** Tensors of one kind can share one that has no memory. {@code device} is -1 for the CPU. */
    private record Kind(int device, torch.ScalarType type) {
        static Kind of(Tensor tensor) {
            torch.ScalarType type = tensor.scalar_type().intern();
            if (tensor.is_cpu()) {
                return new Kind(-1, type);
            }
            try (org.bytedeco.pytorch.Device device = tensor.device()) {
                return new Kind(device.index(), type);
            }
        }
    }

    private static final Map<Kind, Tensor> ENDED = new ConcurrentHashMap<>();

    private UnreadableTensor() {}

    /** A scalar of a device; libtorch throws an exception with {@code why} when an operation reads the value. */
    public static Tensor of(Device device, torch.ScalarType type, String why) {
        return of(TensorMemory.options(device, type), why);
    }

    /**
     * Frees the memory of a tensor that another object holds, such as a {@code TensorOptional}, unless others hold it too: puts an unreadable one
     * of the same device, type and shape in its place. Undefined, sparse and quantized tensors stay.
     */
    static void end(Tensor held) {
        if (!held.defined()
                || held.is_meta()
                || held.is_quantized()
                || held.layout().intern() != torch.Layout.Strided) {
            return;
        }
        Tensor scalar = ENDED.computeIfAbsent(Kind.of(held), _ -> TensorMemory.own(of(held.options(), ENDED_PASS)));
        if (held.is_nested()) { // has no sizes
            held.put(scalar);
            return;
        }
        try (Tensor shaped = scalar.expand(TensorMemory.sizes(held))) {
            held.put(shaped);
        }
    }

    /** One that says that its pass has ended. The result lives as long as the program. */
    static Tensor ended() {
        return TensorMemory.own(of(Device.CPU, torch.ScalarType.Float, ENDED_PASS));
    }

    private static Tensor of(TensorOptions options, String why) {
        Tensor scalar = torch.empty(new long[0], options, new MemoryFormatOptional());
        scalar.unsafeGetTensorImpl()
                .storage()
                .unsafeGetStorageImpl()
                .release_data_and_set_meta_custom_data_ptr_error_msg_(new StringOptional(new BytePointer(why)));
        return scalar;
    }
}
