package io.jrun.bench.collective;

import io.jrun.comm.DataType;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import java.lang.foreign.MemorySegment;

/** One backend with one kind of memory: a column of the comparison. Owns its group. */
final class ComparedBackend implements AutoCloseable {
    private final String backend;
    private final MemoryKind memory;
    private final ProcessGroup group;
    private final MemorySegment input;
    private final MemorySegment result;

    /**
     * Collective.
     *
     * @param maxBytes the size of a buffer in bytes
     * @param hasResult whether the operation has a result buffer besides its input
     */
    ComparedBackend(World world, String backend, MemoryKind memory, long maxBytes, boolean hasResult) {
        // The measurement of another library excludes jrun's comparison of calls.
        this(world, world.group().options().withBackend(backend).withCompared(false), memory, maxBytes, hasResult);
    }

    /** Collective. Makes the group with these {@code options}. */
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

    /** Returns the arguments for {@code total} elements. */
    BenchCase cell(DataType type, ReduceOp op, long total) {
        return new BenchCase(group, type, op, total, input, result);
    }

    @Override
    public void close() {
        group.close();
    }
}
