package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Runs an algorithm for 2^k ranks on any N = 2^k + r ranks: among the first 2r ranks each even rank sends its buffer to
 * its right neighbour, idles, and gets the result back. Costs two more steps, and at most one more buffer sent by 2r
 * ranks.
 *
 * <p>Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, section 3.
 *
 * @param links the whole group
 * @param size 2^k
 * @param extra r, the number of idle ranks
 */
record PowerOfTwoCore(PeerLinks links, int size, int extra) {
    /** The algorithm, run by the members of the core. */
    interface Body {
        /** Runs as rank {@code coreRank} of the core. */
        void run(int coreRank);
    }

    static PowerOfTwoCore of(PeerLinks links) {
        int size = Integer.highestOneBit(links.size());
        return new PowerOfTwoCore(links, size, links.size() - size);
    }

    /** Returns the group rank of a member of the core. */
    int groupRank(int coreRank) {
        return coreRank < extra ? 2 * coreRank + 1 : coreRank + extra;
    }

    /**
     * Reduces the extra ranks' buffers into the core, runs {@code body} on the core, and sends the result to the extra
     * ranks.
     */
    void run(Reduction reduction, MemorySegment buffer, Body body) {
        int rank = links.rank();
        if (rank >= 2 * extra) {
            body.run(rank - extra);
        } else if (rank % 2 == 0) {
            links.await(links.send(rank + 1, buffer));
            links.await(links.receive(rank + 1, buffer));
        } else {
            MemorySegment landing = links.scratch(buffer.byteSize()).asSlice(0, buffer.byteSize());
            links.await(links.receive(rank - 1, landing));
            reduction.fold(buffer, landing);
            body.run(rank / 2);
            links.await(links.send(rank - 1, buffer));
        }
    }
}
