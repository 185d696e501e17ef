package io.jrun.comm.collective;

import io.jrun.comm.collective.PeerLinks.PeerTransfer;
import java.lang.foreign.MemorySegment;

/**
 * All-gather in one step, in place: every rank sends its chunk to every other rank.
 *
 * <p>Steps: one. Bytes sent and received per rank: (N-1)/N of the whole, as the ring, in N-1 messages that do not wait
 * for each other. For small chunks, where the N-1 steps of the ring dominate.
 *
 * <p>Source: the direct exchange of Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory,
 * practice, and experience", 2007, section 3.
 */
final class DirectAllGather {
    private DirectAllGather() {}

    /** Fills {@code buffer}, which already has this rank's chunk. */
    static void run(PeerLinks links, MemorySegment buffer, Chunks chunks) {
        int size = links.size();
        PeerTransfer[] incoming = new PeerTransfer[size];
        for (int distance = 1; distance < size; distance++) {
            int from = Math.floorMod(links.rank() - distance, size);
            incoming[distance] = links.receive(from, chunks.slice(buffer, from));
            links.send((links.rank() + distance) % size, chunks.slice(buffer, links.rank()));
        }
        for (int distance = 1; distance < size; distance++) {
            links.await(incoming[distance]);
        }
    }
}
