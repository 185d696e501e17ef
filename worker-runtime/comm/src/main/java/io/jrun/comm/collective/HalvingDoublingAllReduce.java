package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * All-reduce by recursive vector halving (reduce-scatter) and distance doubling (all-gather), in place.
 *
 * <p>Steps: 2 log2(N) for powers of two, two more otherwise. Bytes sent per rank: 2(N-1)/N of the buffer for powers of
 * two, as the ring, in far fewer steps but with longer messages that are not pipelined. For medium sizes. One rank
 * finishes each element, so all ranks get equal bits.
 *
 * <p>Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
 */
final class HalvingDoublingAllReduce {
    private HalvingDoublingAllReduce() {}

    /** Reduces {@code count} elements of {@code elementBytes} bytes in {@code buffer} over all ranks. */
    static void run(PeerLinks links, Reduction reduction, MemorySegment buffer, long count, int elementBytes) {
        PowerOfTwoCore core = PowerOfTwoCore.of(links);
        core.run(reduction, buffer, coreRank -> {
            Range mine = halve(links, core, coreRank, reduction, buffer, new Range(0, count, elementBytes));
            reduction.finish(mine.of(buffer));
            gather(links, core, coreRank, buffer, new Range(0, count, elementBytes), core.size() / 2);
        });
    }

    /** The elements {@code [from, to)}. */
    private record Range(long from, long to, int elementBytes) {
        MemorySegment of(MemorySegment buffer) {
            return buffer.asSlice(from * elementBytes, (to - from) * elementBytes);
        }

        Range half(boolean upper) {
            long middle = from + (to - from) / 2;
            return upper ? new Range(middle, to, elementBytes) : new Range(from, middle, elementBytes);
        }
    }

    private static Range halve(
            PeerLinks links,
            PowerOfTwoCore core,
            int coreRank,
            Reduction reduction,
            MemorySegment buffer,
            Range whole) {
        Range range = whole;
        for (int distance = core.size() / 2; distance > 0; distance /= 2) {
            int partner = core.groupRank(coreRank ^ distance);
            boolean upper = (coreRank & distance) != 0;
            MemorySegment kept = range.half(upper).of(buffer);
            MemorySegment landing = links.scratch(kept.byteSize()).asSlice(0, kept.byteSize());
            links.exchange(partner, range.half(!upper).of(buffer), partner, landing);
            reduction.fold(kept, landing);
            range = range.half(upper);
        }
        return range;
    }

    // Reverses the halvings from the innermost outwards: the recursion first completes this rank's half of the range.
    private static void gather(
            PeerLinks links, PowerOfTwoCore core, int coreRank, MemorySegment buffer, Range range, int distance) {
        if (distance == 0) {
            return;
        }
        boolean upper = (coreRank & distance) != 0;
        gather(links, core, coreRank, buffer, range.half(upper), distance / 2);
        int partner = core.groupRank(coreRank ^ distance);
        links.exchange(
                partner,
                range.half(upper).of(buffer),
                partner,
                range.half(!upper).of(buffer));
    }
}
