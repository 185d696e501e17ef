package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.TensorMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Copies rank 0's tensors, bit by bit, to all ranks of a group. */
final class StateBroadcast {
    private StateBroadcast() {}

    /** @param tensors of equal types and shapes on all ranks */
    static void run(ProcessGroup group, Iterable<Tensor> tensors) {
        for (Tensor tensor : tensors) {
            if (tensor.is_contiguous()) {
                broadcast(group, TensorMemory.segment(tensor));
            } else {
                throughCopy(group, tensor);
            }
        }
    }

    private static void throughCopy(ProcessGroup group, Tensor tensor) {
        try (NoGradGuard _ = new NoGradGuard();
                Tensor rowMajor = tensor.contiguous()) {
            broadcast(group, TensorMemory.segment(rowMajor));
            tensor.copy_(rowMajor);
        }
    }

    /** Elements of any type travel as 32-bit words: a broadcast does not look at them. */
    private static void broadcast(ProcessGroup group, MemorySegment bytes) {
        long words = Math.ceilDiv(bytes.byteSize(), Integer.BYTES);
        if (words * Integer.BYTES == bytes.byteSize()) {
            group.broadcast(bytes, DataType.I32, words, 0);
            return;
        }
        // Shared: the group's own thread may read it.
        try (Arena arena = Arena.ofShared()) {
            MemorySegment padded = arena.allocate(words * Integer.BYTES, Long.BYTES);
            padded.copyFrom(bytes);
            group.broadcast(padded, DataType.I32, words, 0);
            bytes.copyFrom(padded.asSlice(0, bytes.byteSize()));
        }
    }
}
