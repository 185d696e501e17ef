package io.jrun.comm.collective;

import io.jrun.comm.collective.PeerLinks.PeerTransfer;
import java.lang.foreign.MemorySegment;

/**
 * Gather and scatter in one step: the root exchanges data with every rank directly, with all transfers posted at once.
 *
 * <p>Steps: one. Bytes: the root receives (gather) or sends (scatter) N-1 chunks, every other rank sends or receives
 * its own chunk. No byte travels twice. For large chunks.
 *
 * <p>Source: the linear algorithms of Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory,
 * practice, and experience", 2007, section 3.
 */
final class DirectGather {
    private DirectGather() {}

    /**
     * Copies the {@code own} chunk of every rank into {@code whole} at the root. The root has already copied its own
     * chunk.
     */
    static void gather(PeerLinks links, MemorySegment own, MemorySegment whole, Chunks chunks, int root) {
        if (links.rank() != root) {
            links.await(links.send(root, own));
            return;
        }
        PeerTransfer[] incoming = new PeerTransfer[links.size()];
        for (int rank = 0; rank < links.size(); rank++) {
            if (rank != root) {
                incoming[rank] = links.receive(rank, chunks.slice(whole, rank));
            }
        }
        for (int rank = 0; rank < links.size(); rank++) {
            if (rank != root) {
                links.await(incoming[rank]);
            }
        }
    }

    /** Copies to each rank its chunk of the root's {@code whole}. The root's own chunk is not copied. */
    static void scatter(PeerLinks links, MemorySegment whole, MemorySegment own, Chunks chunks, int root) {
        if (links.rank() != root) {
            links.await(links.receive(root, own));
            return;
        }
        for (int rank = 0; rank < links.size(); rank++) {
            if (rank != root) {
                links.send(rank, chunks.slice(whole, rank));
            }
        }
    }
}
