package io.jrun.train.optim;

import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Memory in which the gradients of {@link FlatParameters} lie. A gradient that lies elsewhere is copied to its home once; the
 * home becomes the parameter's gradient, so the next backward pass adds to it in place.
 */
final class GradientHomes {
    private final List<MemorySegment> foreign;
    private final torch.ScalarType type;
    private final long elements;
    private final Map<FlatParameter, Tensor> homes = new HashMap<>();
    /** All homes; the collector frees a tensor that no field holds. */
    private @Nullable Tensor storage;

    /**
     * Homes for gradients.
     *
     * @param foreign memory of others in which each gradient begins on a cache line and is padded to a whole one
     * @param elements sum of the parameters' padded sizes
     */
    GradientHomes(List<MemorySegment> foreign, torch.ScalarType type, long elements) {
        this.foreign = foreign;
        this.type = type;
        this.elements = elements;
    }

    /** The address of the gradient at home; 0 if the parameter has no gradient. */
    long bringHome(FlatParameter member) {
        Tensor gradient = member.gradient();
        if (!gradient.defined()) {
            return 0;
        }
        long address = TensorMemory.address(gradient);
        if (gradient.is_contiguous() && foreign.stream().anyMatch(segment -> contains(segment, address))) {
            return address;
        }
        Tensor home = homes.computeIfAbsent(member, this::newHome);
        if (TensorMemory.address(home) != address) {
            home.copy_(gradient);
            gradient.put(home);
        }
        return TensorMemory.address(home);
    }

    private static boolean contains(MemorySegment segment, long address) {
        return address >= segment.address() && address < segment.address() + segment.byteSize();
    }

    /** Not a view of a larger tensor: {@code zero_grad()} may detach the home, which torch forbids for views. */
    private Tensor newHome(FlatParameter member) {
        if (storage == null) {
            try (TensorOptions options = new TensorOptions(type)) {
                storage = TensorMemory.own(torch.zeros(new long[] {elements}, options));
            }
        }
        MemorySegment memory = TensorMemory.segment(storage);
        long width = member.tensor().element_size();
        return TensorMemory.own(TensorMemory.tensor(
                memory.asSlice(member.offset() * width, member.tensor().numel() * width),
                type,
                TensorMemory.sizes(member.tensor())));
    }
}
