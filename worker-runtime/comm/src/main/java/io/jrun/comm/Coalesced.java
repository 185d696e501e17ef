package io.jrun.comm;

import io.jrun.comm.Packing.Buffers;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Operations on many small buffers as one: their elements travel together, and the cost of an operation is paid once. The
 * results are those of separate calls, in deterministic mode bit for bit. Every rank passes buffers of the same sizes in
 * the same order; other sizes are a COLLECTIVE_MISMATCH. Buffers are used whole, and copied into one and back.
 *
 * <p>From {@link ProcessGroup#coalesced()}; has that view's timeout, factor and compression. Thread-safe as the group.
 */
public final class Coalesced {
    private final ProcessGroup group;

    Coalesced(ProcessGroup group) {
        this.group = group;
    }

    /** {@link ProcessGroup#allReduce} of every buffer, in place. */
    public void allReduce(List<MemorySegment> buffers, DataType type, ReduceOp op) {
        Plan plan = allReducePlan(buffers, type, op);
        group.run(plan.request(), plan.packing());
    }

    /** Asynchronous {@link #allReduce}. */
    public Work allReduceAsync(List<MemorySegment> buffers, DataType type, ReduceOp op) {
        Plan plan = allReducePlan(buffers, type, op);
        return group.submit(plan.request(), plan.packing());
    }

    /**
     * {@link ProcessGroup#allGather} of every input.
     *
     * @param outputs for each input one of {@code size()} times its elements; they must not overlap inputs
     */
    public void allGather(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type) {
        Plan plan = allGatherPlan(inputs, outputs, type);
        group.run(plan.request(), plan.packing());
    }

    /** Asynchronous {@link #allGather}. */
    public Work allGatherAsync(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type) {
        Plan plan = allGatherPlan(inputs, outputs, type);
        return group.submit(plan.request(), plan.packing());
    }

    /**
     * {@link ProcessGroup#reduceScatter} of every input.
     *
     * @param inputs for each output one of {@code size()} times its elements; they must not overlap outputs
     */
    public void reduceScatter(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op) {
        Plan plan = reduceScatterPlan(inputs, outputs, type, op);
        group.run(plan.request(), plan.packing());
    }

    /** Asynchronous {@link #reduceScatter}. */
    public Work reduceScatterAsync(
            List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op) {
        Plan plan = reduceScatterPlan(inputs, outputs, type, op);
        return group.submit(plan.request(), plan.packing());
    }

    private record Plan(Request request, Packing packing) {}

    private Plan allReducePlan(List<MemorySegment> buffers, DataType type, ReduceOp op) {
        OpKind kind = OpKind.ALL_REDUCE;
        Arguments.reducible(kind, type, op);
        List<Long> counts = counts(kind, buffers, type, 1);
        check(kind, List.of(), buffers);
        Buffers all = new Buffers(List.copyOf(buffers), counts, 1);
        return plan(kind, type, op, counts, all, all);
    }

    private Plan allGatherPlan(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type) {
        OpKind kind = OpKind.ALL_GATHER;
        List<Long> counts = counts(kind, inputs, type, 1);
        checkPairs(kind, counts, counts(kind, outputs, type, group.size()));
        check(kind, inputs, outputs);
        Buffers whole = new Buffers(List.copyOf(outputs), counts, group.size());
        return plan(kind, type, ReduceOp.SUM, counts, new Buffers(List.copyOf(inputs), counts, 1), whole);
    }

    private Plan reduceScatterPlan(
            List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op) {
        OpKind kind = OpKind.REDUCE_SCATTER;
        Arguments.reducible(kind, type, op);
        List<Long> counts = counts(kind, outputs, type, 1);
        checkPairs(kind, counts, counts(kind, inputs, type, group.size()));
        check(kind, inputs, outputs);
        Buffers whole = new Buffers(List.copyOf(inputs), counts, group.size());
        return plan(kind, type, op, counts, whole, new Buffers(List.copyOf(outputs), counts, 1));
    }

    private Plan plan(OpKind kind, DataType type, ReduceOp op, List<Long> counts, Buffers input, Buffers output) {
        long total = counts.stream().mapToLong(Long::longValue).sum();
        Request request = Request.coalesced(kind, type, op, total, counts);
        return new Plan(group.wireRequest(request), group.packing(request, input, output, true));
    }

    /** Elements of one of {@code blocks} blocks of each buffer. */
    private static List<Long> counts(OpKind kind, List<MemorySegment> buffers, DataType type, int blocks) {
        long unit = (long) type.sizeBytes() * blocks;
        return buffers.stream()
                .map(buffer -> {
                    if (buffer.byteSize() % unit != 0) {
                        throw Arguments.usage(
                                kind,
                                "a buffer has " + buffer.byteSize() + " bytes (expected a multiple of " + unit + ")");
                    }
                    return buffer.byteSize() / unit;
                })
                .toList();
    }

    private static void checkPairs(OpKind kind, List<Long> blocks, List<Long> others) {
        if (!blocks.equals(others)) {
            throw Arguments.usage(
                    kind, "inputs and outputs do not match: elements per block are " + blocks + " and " + others);
        }
    }

    private static void check(OpKind kind, List<MemorySegment> inputs, List<MemorySegment> outputs) {
        inputs.forEach(buffer -> Arguments.readable(kind, "input", buffer, 0));
        outputs.forEach(buffer -> Arguments.writable(kind, "output", buffer, 0));
    }
}
