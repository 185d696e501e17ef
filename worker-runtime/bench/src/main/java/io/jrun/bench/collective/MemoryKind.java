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

/** Where buffers lie; the constants are the words of {@code --memory}. */
enum MemoryKind {
    /** {@code ProcessGroup.allocate}: moved by the backend with the fewest copies. */
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
    /** Native memory that no backend knows. */
    direct {
        @Override
        MemorySegment allocate(ProcessGroup group, long bytes) {
            return Arena.global().allocate(bytes, ALIGNMENT);
        }
    },
    /** A libtorch tensor's. */
    tensor {
        @Override
        MemorySegment allocate(ProcessGroup group, long bytes) {
            Libtorch.load();
            try (TensorOptions options = new TensorOptions(torch.ScalarType.Byte)) {
                Tensor tensor = torch.zeros(new long[] {bytes}, options);
                TENSORS.add(tensor); // a tensor that nobody refers to is freed
                return TensorMemory.segment(tensor);
            }
        }
    };

    private static final long ALIGNMENT = 64;

    private static final List<Tensor> TENSORS = new ArrayList<>();

    /** Memory for the life of the group, zeroed. Collective. */
    abstract MemorySegment allocate(ProcessGroup group, long bytes);
}
