package io.jrun.bench.collective;

import io.jrun.comm.DataType;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import java.lang.foreign.MemorySegment;

/** One backend on one kind of memory: a column of the comparison. Owns its group. */
final class ComparedBackend implements AutoCloseable {
    private final String backend;
    private final MemoryKind memory;
    private final ProcessGroup group;
    private final MemorySegment input;
    private final MemorySegment result;

    /**
     * Collective.
     *
     * @param maxBytes of a buffer
     * @param hasResult whether the operation does not work in place
     */
    ComparedBackend(World world, String backend, MemoryKind memory, long maxBytes, boolean hasResult) {
        // Another library is measured by itself, without the comparison that jrun makes before its calls.
        this(world, world.group().options().withBackend(backend).withCompared(false), memory, maxBytes, hasResult);
    }

    /** Collective. The same with other {@code options} too. */
    ComparedBackend(World world, GroupOptions options, MemoryKind memory, long maxBytes, boolean hasResult) {
        this.backend = options.backend();
        this.memory = memory;
        this.group = world.group().split(0, world.rank(), options);
        this.input = memory.allocate(group, maxBytes);
        this.result = hasResult ? memory.allocate(group, maxBytes) : input;
    }

    String backend() {
        return backend;
    }

    MemoryKind memory() {
        return memory;
    }

    /** The arguments for {@code total} elements. */
    BenchCase cell(DataType type, ReduceOp op, long total) {
        return new BenchCase(group, type, op, total, input, result);
    }

    @Override
    public void close() {
        group.close();
    }
}
