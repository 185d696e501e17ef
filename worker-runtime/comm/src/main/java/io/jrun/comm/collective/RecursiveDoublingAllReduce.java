package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * All-reduce by recursive doubling, in place: in step i partners at distance 2^i exchange whole buffers, and both
 * reduce.
 *
 * <p>Steps: log2(N) for powers of two, two more otherwise; the fewest possible. Bytes sent per rank: log2(N) times the
 * buffer. For small buffers, where only steps matter. Both partners reduce the lower rank's part first, so all ranks
 * compute the same expression and get equal bits.
 *
 * <p>Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005,
 * section 4.5.
 */
final class RecursiveDoublingAllReduce {
    private RecursiveDoublingAllReduce() {}

    /** Reduces {@code buffer} over all ranks. */
    static void run(PeerLinks links, Reduction reduction, MemorySegment buffer) {
        PowerOfTwoCore core = PowerOfTwoCore.of(links);
        core.run(reduction, buffer, coreRank -> {
            MemorySegment landing = links.scratch(buffer.byteSize()).asSlice(0, buffer.byteSize());
            for (int distance = 1; distance < core.size(); distance *= 2) {
                int partner = core.groupRank(coreRank ^ distance);
                links.exchange(partner, buffer, partner, landing);
                if ((coreRank & distance) == 0) {
                    reduction.fold(buffer, landing);
                } else {
                    reduction.fold(landing, buffer);
                    buffer.copyFrom(landing);
                }
            }
            reduction.finish(buffer);
        });
    }
}
