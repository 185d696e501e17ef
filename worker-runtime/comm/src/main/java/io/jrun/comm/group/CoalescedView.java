package io.jrun.comm.group;

import io.jrun.comm.CoalescedOperations;
import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.operation.ArgumentChecks;
import io.jrun.comm.operation.Packing;
import io.jrun.comm.operation.Packing.Buffers;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Packs the buffers of a coalesced operation into one buffer. Thread-safe. */
final class CoalescedView implements CoalescedOperations {
    private final GroupView group;

    CoalescedView(GroupView group) {
        this.group = group;
    }

    @Override
    public void allReduce(List<MemorySegment> buffers, DataType type, ReduceOp op) {
        Plan plan = allReducePlan(buffers, type, op);
        group.run(plan.request(), plan.packing());
    }

    @Override
    public Work allReduceAsync(List<MemorySegment> buffers, DataType type, ReduceOp op) {
        Plan plan = allReducePlan(buffers, type, op);
        return group.submit(plan.request(), plan.packing());
    }

    @Override
    public void allGather(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type) {
        Plan plan = allGatherPlan(inputs, outputs, type);
        group.run(plan.request(), plan.packing());
    }

    @Override
    public Work allGatherAsync(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type) {
        Plan plan = allGatherPlan(inputs, outputs, type);
        return group.submit(plan.request(), plan.packing());
    }

    @Override
    public void reduceScatter(List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op) {
        Plan plan = reduceScatterPlan(inputs, outputs, type, op);
        group.run(plan.request(), plan.packing());
    }

    @Override
    public Work reduceScatterAsync(
            List<MemorySegment> inputs, List<MemorySegment> outputs, DataType type, ReduceOp op) {
        Plan plan = reduceScatterPlan(inputs, outputs, type, op);
        return group.submit(plan.request(), plan.packing());
    }

    private record Plan(Call request, Packing packing) {}

    private Plan allReducePlan(List<MemorySegment> buffers, DataType type, ReduceOp op) {
        OpKind kind = OpKind.ALL_REDUCE;
        ArgumentChecks.reducible(kind, type, op);
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
        ArgumentChecks.reducible(kind, type, op);
        List<Long> counts = counts(kind, outputs, type, 1);
        checkPairs(kind, counts, counts(kind, inputs, type, group.size()));
        check(kind, inputs, outputs);
        Buffers whole = new Buffers(List.copyOf(inputs), counts, group.size());
        return plan(kind, type, op, counts, whole, new Buffers(List.copyOf(outputs), counts, 1));
    }

    private Plan plan(OpKind kind, DataType type, ReduceOp op, List<Long> counts, Buffers input, Buffers output) {
        long total = counts.stream().mapToLong(Long::longValue).sum();
        Call request = Call.coalesced(kind, type, op, total, counts);
        return new Plan(group.wireRequest(request), group.packing(request, input, output, true));
    }

    /** Returns the number of elements in one of {@code blocks} equal blocks of each buffer. */
    private static List<Long> counts(OpKind kind, List<MemorySegment> buffers, DataType type, int blocks) {
        long unit = (long) type.sizeBytes() * blocks;
        return buffers.stream()
                .map(buffer -> {
                    if (buffer.byteSize() % unit != 0) {
                        throw ArgumentChecks.usage(
                                kind,
                                "a buffer has " + buffer.byteSize() + " bytes (expected a multiple of " + unit + ")");
                    }
                    return buffer.byteSize() / unit;
                })
                .toList();
    }

    private static void checkPairs(OpKind kind, List<Long> blocks, List<Long> others) {
        if (!blocks.equals(others)) {
            throw ArgumentChecks.usage(
                    kind, "inputs and outputs do not match: elements per block are " + blocks + " and " + others);
        }
    }

    private static void check(OpKind kind, List<MemorySegment> inputs, List<MemorySegment> outputs) {
        inputs.forEach(buffer -> ArgumentChecks.readable(kind, "input", buffer, 0));
        outputs.forEach(buffer -> ArgumentChecks.writable(kind, "output", buffer, 0));
    }
}
