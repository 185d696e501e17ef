package io.jrun.train.offload;

import io.jrun.comm.Device;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.tensor.TensorMemory;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The file of one unit: values and states of two versions, and gradients. Reads and writes of different units may run
 * on different threads.
 */
final class OffloadedUnit {
    private static final long ALIGNMENT_BYTES = 64;

    private final String name;
    private final UnitFile file;
    private final long bytes;
    private final int blocks;
    private final torch.ScalarType type;
    private final List<Integer> groups = new ArrayList<>();
    private final List<Long> ends = new ArrayList<>();
    /** A thread of files writes the gradients; the training thread drops them. */
    private volatile boolean hasGradients;

    /**
     * A unit without shards.
     *
     * @param bytes of the values
     * @param blocks of this many bytes: the values, and each state
     * @param type of values, states and gradients
     */
    OffloadedUnit(String name, UnitFile file, long bytes, int blocks, torch.ScalarType type) {
        this.name = name;
        this.file = file;
        this.bytes = bytes;
        this.blocks = blocks;
        this.type = type;
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
    void begin(Tensor values) {
        write(file.version(0), values);
        try (Tensor zeros = FlatUpdate.zeros(Device.CPU, (blocks - 1) * elements(), type)) {
            write(file.version(0) + bytes, zeros);
        }
    }

    /** Reads the values after {@code steps} steps. Returns their place. */
    HostElements readValues(long steps, HostElements into) {
        return read(file.version(steps), into);
    }

    /** Reads the gradients. Returns their place. */
    HostElements readGradients(HostElements into) {
        return read(file.gradients(), into);
    }

    /** Writes the gradients when they are in host memory. */
    void writeGradients(HostElements from) {
        from.awaitCopy();
        try {
            file.write(file.gradients(), from.onHost());
        } finally {
            Reference.reachabilityFence(from);
        }
        hasGradients = true;
    }

    /** The fence keeps the memory alive: the program may drop the memory after a failure. */
    private HostElements read(long at, HostElements into) {
        try {
            file.read(at, into.onHost());
            return into;
        } finally {
            Reference.reachabilityFence(into);
        }
    }

    private void read(long at, Tensor into) {
        try {
            if (into.numel() > 0) {
                file.read(at, TensorMemory.segment(into));
            }
        } finally {
            Reference.reachabilityFence(into);
        }
    }

    private void write(long at, Tensor from) {
        try {
            if (from.numel() > 0) {
                file.write(at, TensorMemory.segment(from));
            }
        } finally {
            Reference.reachabilityFence(from);
        }
    }

    boolean hasGradients() {
        return hasGradients;
    }

    void dropGradients() {
        hasGradients = false;
    }

    /** Reads everything after {@code steps} steps. */
    Loaded load(long steps) {
        Tensor states = loadStates(steps);
        Tensor gradients = FlatUpdate.zeros(Device.CPU, elements(), type);
        if (hasGradients) {
            read(file.gradients(), gradients);
        }
        return new Loaded(this, states, gradients);
    }

    /** Reads the values and states after {@code steps} steps. */
    Tensor loadStates(long steps) {
        Tensor states = FlatUpdate.zeros(Device.CPU, blocks * elements(), type);
        read(file.version(steps), states);
        return states;
    }

    /**
     * The states with gradients that no file has, for an update within the pass. Waits until the gradients are in host
     * memory. The unit then counts as one with gradients, although its file has none.
     */
    Loaded with(Tensor states, HostElements gradients) {
        gradients.awaitCopy();
        hasGradients = true;
        try (PointerScope _ = new PointerScope()) {
            return new Loaded(
                    this, states, TensorMemory.own(TensorMemory.tensor(gradients.onHost(), type, elements())));
        }
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
        List<Tensor> states = new ArrayList<>();
        for (int block = 1; block < blocks; block++) {
            states.add(loaded.states().narrow(0, block * elements() + begin, end - begin));
        }
        return new FlatUpdate.Piece(
                loaded.states().narrow(0, begin, end - begin),
                loaded.gradients().narrow(0, begin, end - begin),
                states,
                group);
    }

    /** The elements of a block. */
    private long elements() {
        return bytes / torch.elementSize(type);
    }

    /** Writes values and states after {@code steps} steps durably, and frees the memory. */
    void store(Loaded loaded, long steps) {
        write(file.version(steps), loaded.states());
        file.force();
        loaded.states().close();
        loaded.gradients().close();
    }

    /** The name, for messages. */
    @Override
    public String toString() {
        return "unit '" + name + "'";
    }

    UnitFile file() {
        return file;
    }

    void close() {
        file.close();
    }
}
