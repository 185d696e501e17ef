package io.jrun.train;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Copies one rank's tensors, bit by bit, to all ranks of a group. */
public final class StateBroadcast {
    private StateBroadcast() {}

    /**
     * Copies; collective.
     *
     * @param tensors of equal types and shapes on all ranks
     * @param root the group rank whose values they are
     */
    public static void run(ProcessGroup group, Iterable<Tensor> tensors, int root) {
        for (Tensor tensor : tensors) {
            if (tensor.is_contiguous()) {
                broadcast(group, TensorMemory.segment(tensor), root);
            } else {
                throughCopy(group, tensor, root);
            }
        }
    }

    private static void throughCopy(ProcessGroup group, Tensor tensor, int root) {
        try (NoGradGuard _ = new NoGradGuard();
                Tensor rowMajor = tensor.contiguous()) {
            broadcast(group, TensorMemory.segment(rowMajor), root);
            tensor.copy_(rowMajor);
        }
    }

    /** Elements of any type travel as 32-bit words: a broadcast does not look at them. */
    private static void broadcast(ProcessGroup group, MemorySegment bytes, int root) {
        long words = Math.ceilDiv(bytes.byteSize(), Integer.BYTES);
        if (words * Integer.BYTES == bytes.byteSize()) {
            group.broadcast(bytes, DataType.I32, words, root);
            return;
        }
        // Shared: the group's own thread may read it.
        try (Arena arena = Arena.ofShared()) {
            MemorySegment padded = arena.allocate(words * Integer.BYTES, Long.BYTES);
            padded.copyFrom(bytes);
            group.broadcast(padded, DataType.I32, words, root);
            bytes.copyFrom(padded.asSlice(0, bytes.byteSize()));
        }
    }
}
