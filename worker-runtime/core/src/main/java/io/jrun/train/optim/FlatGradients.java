package io.jrun.train.optim;

import io.jrun.comm.Device;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Contiguous memory of the gradients of {@link FlatParameters}. A gradient in other memory is copied once to its place
 * in this memory. The tensor at this place becomes the parameter's gradient, so the next backward pass adds to the same
 * memory.
 */
final class FlatGradients {
    private final PaddedGradients foreign;
    /** The ends of the foreign memory at the last {@link #findForeign}, by the first addresses. */
    private final NavigableMap<Long, Long> foreignEnds = new TreeMap<>();

    private final Device device;
    private final torch.ScalarType type;
    private final long elements;
    private final Map<FlatParameter, Tensor> tensors = new HashMap<>();
    /**
     * The memory of all {@code tensors}. The field keeps the memory: the garbage collector frees a tensor without a
     * reference.
     */
    private @Nullable Tensor storage;

    /**
     * Memory for gradients.
     *
     * @param foreign memory of another class on the same device, such as DDP's buckets. The addresses are compared, not
     *     read
     * @param elements sum of the parameters' padded sizes
     */
    FlatGradients(PaddedGradients foreign, Device device, torch.ScalarType type, long elements) {
        this.foreign = foreign;
        this.device = device;
        this.type = type;
        this.elements = elements;
    }

    /** Asks where the foreign memory is in this step. */
    void findForeign() {
        foreignEnds.clear();
        foreign.segments()
                .forEach(segment -> foreignEnds.put(segment.address(), segment.address() + segment.byteSize()));
    }

    /**
     * Moves the gradient into this memory, or finds the gradient in {@code foreign}. Returns the address of the
     * gradient; 0 without a gradient.
     */
    long moveHere(FlatParameter member) {
        Tensor gradient = member.gradient();
        if (!gradient.defined()) {
            return 0;
        }
        long address = TensorMemory.address(gradient);
        if (gradient.is_contiguous() && isForeign(address)) {
            return address;
        }
        Tensor flat = tensors.computeIfAbsent(member, this::tensorOf);
        if (TensorMemory.address(flat) != address) {
            flat.copy_(gradient);
            gradient.put(flat);
        }
        return TensorMemory.address(flat);
    }

    private boolean isForeign(long address) {
        Map.Entry<Long, Long> segment = foreignEnds.floorEntry(address);
        return segment != null && address < segment.getValue();
    }

    /**
     * Makes a tensor that is not a view: {@code zero_grad()} may detach a gradient, and torch forbids the detach of a
     * view.
     */
    private Tensor tensorOf(FlatParameter member) {
        if (storage == null) {
            try (Tensor zeros = TensorMemory.zeros(device, type, elements)) {
                storage = TensorMemory.own(zeros);
            }
        }
        MemorySegment memory = TensorMemory.elements(storage);
        long width = member.tensor().element_size();
        return TensorMemory.own(TensorMemory.tensor(
                memory.asSlice(member.offset() * width, member.tensor().numel() * width),
                device,
                type,
                TensorMemory.sizes(member.tensor())));
    }
}
