package io.jrun.comm.group;

import io.jrun.comm.Buffer;
import io.jrun.comm.CoalescedOperations;
import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.operation.ArgumentChecks;
import io.jrun.comm.operation.CombinedWork;
import io.jrun.comm.operation.Packing;
import io.jrun.comm.operation.Packing.Buffers;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

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

    @Override
    public void allReduce(List<Buffer> buffers, ReduceOp op) {
        Buffer any = anyOf(OpKind.ALL_REDUCE, buffers, List.of());
        if (any.device().isCpu()) {
            allReduce(memory(buffers), any.type(), op);
        } else {
            buffers.forEach(buffer -> group.allReduce(buffer, op));
        }
    }

    @Override
    public Work allReduceAsync(List<Buffer> buffers, ReduceOp op) {
        Buffer any = anyOf(OpKind.ALL_REDUCE, buffers, List.of());
        return any.device().isCpu()
                ? allReduceAsync(memory(buffers), any.type(), op)
                : each(buffers.size(), index -> group.allReduceAsync(buffers.get(index), op));
    }

    @Override
    public void allGather(List<Buffer> inputs, List<Buffer> outputs) {
        Buffer any = anyOfPairs(OpKind.ALL_GATHER, inputs, outputs);
        if (any.device().isCpu()) {
            allGather(memory(inputs), memory(outputs), any.type());
        } else {
            for (int index = 0; index < inputs.size(); index++) {
                group.allGather(inputs.get(index), outputs.get(index));
            }
        }
    }

    @Override
    public Work allGatherAsync(List<Buffer> inputs, List<Buffer> outputs) {
        Buffer any = anyOfPairs(OpKind.ALL_GATHER, inputs, outputs);
        return any.device().isCpu()
                ? allGatherAsync(memory(inputs), memory(outputs), any.type())
                : each(inputs.size(), index -> group.allGatherAsync(inputs.get(index), outputs.get(index)));
    }

    @Override
    public void reduceScatter(List<Buffer> inputs, List<Buffer> outputs, ReduceOp op) {
        Buffer any = anyOfPairs(OpKind.REDUCE_SCATTER, outputs, inputs);
        if (any.device().isCpu()) {
            reduceScatter(memory(inputs), memory(outputs), any.type(), op);
        } else {
            for (int index = 0; index < inputs.size(); index++) {
                group.reduceScatter(inputs.get(index), outputs.get(index), op);
            }
        }
    }

    @Override
    public Work reduceScatterAsync(List<Buffer> inputs, List<Buffer> outputs, ReduceOp op) {
        Buffer any = anyOfPairs(OpKind.REDUCE_SCATTER, outputs, inputs);
        return any.device().isCpu()
                ? reduceScatterAsync(memory(inputs), memory(outputs), any.type(), op)
                : each(inputs.size(), index -> group.reduceScatterAsync(inputs.get(index), outputs.get(index), op));
    }

    private static Work each(int number, IntFunction<Work> operation) {
        return new CombinedWork(IntStream.range(0, number).mapToObj(operation).toList());
    }

    private static List<MemorySegment> memory(List<Buffer> buffers) {
        return buffers.stream()
                .map(buffer -> buffer.memory()
                        .asSlice(0, buffer.count() * buffer.type().sizeBytes()))
                .toList();
    }

    /** Checks that each of {@code whole} has a block as long as its block for each rank. Returns one of the buffers. */
    private Buffer anyOfPairs(OpKind kind, List<Buffer> blocks, List<Buffer> whole) {
        Buffer any = anyOf(kind, blocks, whole);
        List<Long> counts =
                blocks.stream().map(block -> block.count() * group.size()).toList();
        if (!counts.equals(whole.stream().map(Buffer::count).toList())) {
            throw ArgumentChecks.usage(
                    kind,
                    "inputs and outputs do not match: blocks of "
                            + blocks.stream().map(Buffer::count).toList() + " elements for " + group.size()
                            + " ranks, and "
                            + whole.stream().map(Buffer::count).toList() + " elements for all ranks");
        }
        return any;
    }

    /** Checks that the buffers have one type, and one device that the group can use. Returns one of the buffers. */
    private Buffer anyOf(OpKind kind, List<Buffer> buffers, List<Buffer> others) {
        if (buffers.isEmpty()) {
            throw ArgumentChecks.usage(kind, "there are no buffers (expected at least one)");
        }
        Buffer first = buffers.getFirst();
        Stream.concat(buffers.stream(), others.stream())
                .filter(buffer ->
                        buffer.type() != first.type() || !buffer.device().equals(first.device()))
                .findFirst()
                .ifPresent(other -> {
                    throw ArgumentChecks.usage(
                            kind,
                            "the buffers have different types or devices: " + describe(first) + " and "
                                    + describe(other));
                });
        group.unsupportedReason(first.device()).ifPresent(why -> {
            throw ArgumentChecks.usage(kind, why);
        });
        return first;
    }

    private static String describe(Buffer buffer) {
        return buffer.type().label() + " on " + buffer.device();
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
