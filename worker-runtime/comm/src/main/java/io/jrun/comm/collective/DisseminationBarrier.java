package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Barrier by dissemination: in step i every rank signals the rank 2^i to its right and waits for the rank 2^i to its
 * left.
 *
 * <p>Steps: ceil(log2 N). Bytes: only frame headers. The headers carry the call's fingerprint, so the barrier also
 * compares calls without data.
 *
 * <p>Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", IJPP 1988.
 */
final class DisseminationBarrier {
    private static final MemorySegment NOTHING = MemorySegment.ofArray(new byte[0]);

    private DisseminationBarrier() {}

    /** Returns after every rank has entered. */
    static void run(PeerLinks links) {
        int size = links.size();
        for (long distance = 1; distance < size; distance *= 2) {
            int to = (int) ((links.rank() + distance) % size);
            int from = (int) Math.floorMod(links.rank() - distance, (long) size);
            links.exchange(to, NOTHING, from, NOTHING);
        }
    }
}
