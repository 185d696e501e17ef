package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.Device;
import io.jrun.train.checkpoint.PinnedMemory;
import io.jrun.train.device.HostCopies;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * The snapshot of one rank in one piece of memory, which later snapshots of the same form use again. Memory for
 * tensors of a GPU is pinned. Confined to one thread.
 */
final class HeldSnapshot {
    private static final long NONE = -1;

    private final List<Long> positions;
    private final MemorySegment memory;
    private SnapshotForm form;
    private Optional<PinnedMemory> pinned = Optional.empty();
    private boolean isPinTried;
    private long step = NONE;

    /** @param allocator gives the memory, which lives until {@link #unpin} */
    HeldSnapshot(SnapshotForm form, SegmentAllocator allocator) {
        this.form = form;
        this.positions = form.positions();
        this.memory = allocator.allocate(form.bytes(), SnapshotForm.ALIGNMENT);
    }

    SnapshotForm form() {
        return form;
    }

    /** Begins to copy the tensors of a state of this form. {@link HostCopies#begin} says what the caller must not do. */
    void beginCopy(StateDict state, HostCopies copies) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            List<Tensor> from = new ArrayList<>();
            List<Tensor> to = new ArrayList<>();
            int i = 0;
            for (StateEntry entry : state.entries()) {
                if (entry.local().numel() > 0) {
                    from.add(entry.local());
                    to.add(tensor(i));
                }
                i++;
            }
            from.stream().map(TensorMemory::device).distinct().forEach(this::pinFor);
            copies.begin(from, to);
        }
    }

    /** Pins the memory, once, for tensors of a GPU. */
    void pinFor(Device device) {
        if (!isPinTried && !device.isCpu()) {
            isPinTried = true;
            pinned = PinnedMemory.pin(device, memory);
        }
    }

    /** Copies the elements that this snapshot and a wanted entry share. Returns their number. */
    long fill(StateEntry wanted) {
        long elements = 0;
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < form.chunks().size(); i++) {
                Chunk chunk = form.chunks().get(i);
                if (!chunk.name().equals(wanted.name()) || chunk.elements() == 0) {
                    continue;
                }
                var overlap = Overlap.of(wanted, chunk);
                if (overlap.isPresent()) {
                    overlap.get()
                            .in(wanted.local().detach(), wanted.offsets())
                            .copy_(overlap.get().in(tensor(i), chunk.offsets()));
                    elements += overlap.get().elements();
                }
            }
        }
        return elements;
    }

    private Tensor tensor(int i) {
        Chunk chunk = form.chunks().get(i);
        return TensorMemory.tensor(
                memory.asSlice(positions.get(i), chunk.bytes()),
                chunk.type().torch(),
                chunk.shape().stream().mapToLong(Long::longValue).toArray());
    }

    Map<String, String> texts() {
        return form.texts();
    }

    MemorySegment memory() {
        return memory;
    }

    /** The step of the snapshot; negative while the memory is being written. */
    long step() {
        return step;
    }

    /** The memory does not have a whole snapshot any more. */
    void begin() {
        step = NONE;
    }

    /** The texts of the next snapshot, whose chunks are those of this snapshot. */
    void setForm(SnapshotForm newForm) {
        form = newForm;
    }

    void end(long newStep) {
        step = newStep;
    }

    /** Call the method before the end of the memory. */
    void unpin() {
        pinned.ifPresent(PinnedMemory::close);
        pinned = Optional.empty();
    }
}
