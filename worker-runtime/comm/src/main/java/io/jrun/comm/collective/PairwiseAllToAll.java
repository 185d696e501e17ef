package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * All-to-all by pairwise exchange: in step s every rank sends to the rank s to its right and receives from the rank s
 * to its left, so that each link carries one message per step.
 *
 * <p>Steps: N-1. Bytes sent and received per rank: (N-1)/N of the input, which is optimal.
 *
 * <p>Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005,
 * section 4.3 (long messages).
 */
final class PairwiseAllToAll {
    private PairwiseAllToAll() {}

    /**
     * Sends chunk i of {@code input} to rank i and fills chunk j of {@code output} from rank j.
     *
     * @param outgoing chunks of the input
     * @param incoming chunks of the output
     */
    static void run(PeerLinks links, MemorySegment input, Chunks outgoing, MemorySegment output, Chunks incoming) {
        int size = links.size();
        int rank = links.rank();
        incoming.slice(output, rank).copyFrom(outgoing.slice(input, rank));
        for (int distance = 1; distance < size; distance++) {
            int to = (rank + distance) % size;
            int from = Math.floorMod(rank - distance, size);
            links.exchange(to, outgoing.slice(input, to), from, incoming.slice(output, from));
        }
    }
}
