package io.jrun.bench.collective;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** The kind of memory of buffers. The constants are the values of {@code --memory}. */
enum MemoryKind {
    /** Memory of {@code ProcessGroup.allocate}, which the backend moves with the fewest copies. */
    registered {
        @Override
        MemorySegment allocate(ProcessGroup group, long bytes) {
            return group.allocate(bytes);
        }
    },
    /** A Java array. */
    heap {
        @Override
        MemorySegment allocate(ProcessGroup group, long bytes) {
            return MemorySegment.ofArray(new long[Math.toIntExact((bytes + Long.BYTES - 1) / Long.BYTES)]);
        }
    },
    /** Native memory that is not registered with a backend. */
    direct {
        @Override
        MemorySegment allocate(ProcessGroup group, long bytes) {
            return Arena.global().allocate(bytes, ALIGNMENT);
        }
    },
    /** The memory of a libtorch tensor. */
    tensor {
        @Override
        MemorySegment allocate(ProcessGroup group, long bytes) {
            Libtorch.load();
            try (TensorOptions options = new TensorOptions(torch.ScalarType.Byte)) {
                Tensor tensor = torch.zeros(new long[] {bytes}, options);
                TENSORS.add(tensor); // a reference keeps the tensor alive
                return TensorMemory.segment(tensor);
            }
        }
    };

    private static final long ALIGNMENT = 64;

    private static final List<Tensor> TENSORS = new ArrayList<>();

    /** Collective. Returns zeroed memory for the life of the group. */
    abstract MemorySegment allocate(ProcessGroup group, long bytes);
}
