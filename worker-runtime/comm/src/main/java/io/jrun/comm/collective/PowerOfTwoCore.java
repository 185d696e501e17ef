package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Makes an algorithm for 2^k ranks work for any N = 2^k + r: among the first 2r ranks each even one hands its buffer to its
 * right neighbour, sits out, and gets the result back. Two more steps, at most one more buffer sent by 2r ranks.
 *
 * <p>Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, section 3.
 *
 * @param links the whole group
 * @param size 2^k
 * @param extra r
 */
record PowerOfTwoCore(PeerLinks links, int size, int extra) {
    /** The body of the algorithm, run by the members of the core. */
    interface Body {
        /** Runs as rank {@code coreRank} of the core. */
        void run(int coreRank);
    }

    static PowerOfTwoCore of(PeerLinks links) {
        int size = Integer.highestOneBit(links.size());
        return new PowerOfTwoCore(links, size, links.size() - size);
    }

    /** Group rank of a member of the core. */
    int groupRank(int coreRank) {
        return coreRank < extra ? 2 * coreRank + 1 : coreRank + extra;
    }

    /** Folds the extra ranks' buffers in, runs {@code body} on the core, and hands the extra ranks the result. */
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
