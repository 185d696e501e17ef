package io.jrun.train.offload;

import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The file of one unit: values and states of two versions, and gradients. Reads and writes of different units may run
 * on different threads.
 */
final class OffloadedUnit {
    private static final long ALIGNMENT_BYTES = 64;

    private final UnitFile file;
    private final long bytes;
    private final int blocks;
    private final List<Integer> groups = new ArrayList<>();
    private final List<Long> ends = new ArrayList<>();
    private boolean hasGradients;

    /**
     * A unit without shards.
     *
     * @param bytes of the values
     * @param blocks of this many bytes: the values, and each state
     */
    OffloadedUnit(UnitFile file, long bytes, int blocks) {
        this.file = file;
        this.bytes = bytes;
        this.blocks = blocks;
    }

    /** Values, states and gradients of a unit in memory. */
    record Loaded(OffloadedUnit unit, Tensor states, Tensor gradients) {}

    /** Adds the next shard, whose parameters have the options of a group. */
    void add(Tensor shard, int group) {
        long lines = Math.ceilDiv(shard.numel() * shard.element_size(), ALIGNMENT_BYTES);
        groups.add(group);
        ends.add((ends.isEmpty() ? 0 : ends.getLast()) + lines * ALIGNMENT_BYTES / shard.element_size());
    }

    /** Writes the first values, and zeros for the states. */
    void begin(MemorySegment values) {
        file.write(file.version(0), values);
        try (Tensor zeros = FlatUpdate.zeros((blocks - 1) * bytes / Float.BYTES, torch.ScalarType.Float)) {
            file.write(file.version(0) + bytes, TensorMemory.segment(zeros));
        }
    }

    void readValues(long steps, MemorySegment into) {
        file.read(file.version(steps), into);
    }

    void readGradients(MemorySegment into) {
        file.read(file.gradients(), into);
    }

    void writeGradients(MemorySegment from) {
        file.write(file.gradients(), from);
        hasGradients = true;
    }

    boolean hasGradients() {
        return hasGradients;
    }

    void dropGradients() {
        hasGradients = false;
    }

    /** Reads everything after {@code steps} steps. */
    Loaded load(long steps) {
        Tensor states = FlatUpdate.zeros(blocks * bytes / Float.BYTES, torch.ScalarType.Float);
        Tensor gradients = FlatUpdate.zeros(bytes / Float.BYTES, torch.ScalarType.Float);
        file.read(file.version(steps), TensorMemory.segment(states));
        if (hasGradients) {
            file.read(file.gradients(), TensorMemory.segment(gradients));
        }
        return new Loaded(this, states, gradients);
    }

    /** The pieces of equal options, in the caller's {@code PointerScope}. */
    List<FlatUpdate.Piece> pieces(Loaded loaded) {
        List<FlatUpdate.Piece> pieces = new ArrayList<>();
        long begin = 0;
        for (int i = 0; i < ends.size(); i++) {
            boolean endsGroup = i + 1 == ends.size() || !groups.get(i + 1).equals(groups.get(i));
            long end = ends.get(i);
            if (endsGroup && end > begin && groups.get(i) != OffloadedOptimizer.FROZEN_GROUP) {
                pieces.add(piece(loaded, begin, end, groups.get(i)));
            }
            begin = endsGroup ? end : begin;
        }
        return pieces;
    }

    private FlatUpdate.Piece piece(Loaded loaded, long begin, long end, int group) {
        long elements = bytes / Float.BYTES;
        List<Tensor> states = new ArrayList<>();
        for (int block = 1; block < blocks; block++) {
            states.add(loaded.states().narrow(0, block * elements + begin, end - begin));
        }
        return new FlatUpdate.Piece(
                loaded.states().narrow(0, begin, end - begin),
                loaded.gradients().narrow(0, begin, end - begin),
                states,
                group);
    }

    /** Writes values and states after {@code steps} steps durably, and frees the memory. */
    void store(Loaded loaded, long steps) {
        file.write(file.version(steps), TensorMemory.segment(loaded.states()));
        file.force();
        loaded.states().close();
        loaded.gradients().close();
    }

    void close() {
        file.close();
    }
}
