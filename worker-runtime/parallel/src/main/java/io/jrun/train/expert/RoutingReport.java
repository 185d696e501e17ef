package io.jrun.train.expert;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Counts of the choices of training passes. A pass without gradients, such as an evaluation, does not count.
 *
 * @param dropped choices that exceeded the capacity of their expert
 * @param load choices of each expert, with those that were dropped
 */
public record RoutingReport(long dropped, List<Long> load) {
    public RoutingReport {
        load = List.copyOf(load);
    }

    /** The choices of both reports. */
    public RoutingReport plus(RoutingReport other) {
        return new RoutingReport(
                dropped + other.dropped,
                IntStream.range(0, load.size())
                        .mapToObj(expert -> load.get(expert) + other.load.get(expert))
                        .toList());
    }

    /** The choices of all ranks. Collective. */
    public RoutingReport overRanks(ProcessGroup group) {
        long[] counts = LongStream.concat(LongStream.of(dropped), load.stream().mapToLong(Long::longValue))
                .toArray();
        group.allReduce(MemorySegment.ofArray(counts), DataType.I64, counts.length, ReduceOp.SUM);
        return new RoutingReport(
                counts[0], LongStream.of(counts).skip(1).boxed().toList());
    }

    /** The number of choices. */
    public long choices() {
        return load.stream().mapToLong(Long::longValue).sum();
    }

    /** The share of the choices that were dropped; 0 without choices. */
    public double droppedShare() {
        return choices() == 0 ? 0 : (double) dropped / choices();
    }

    /** The choices of the fullest expert, as a multiple of an equal share; 0 without choices. */
    public double imbalance() {
        long fullest = load.stream().mapToLong(Long::longValue).max().orElse(0);
        return choices() == 0 ? 0 : (double) fullest * load.size() / choices();
    }
}
