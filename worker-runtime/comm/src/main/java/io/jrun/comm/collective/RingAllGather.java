package io.jrun.comm.collective;

import io.jrun.comm.collective.PeerLinks.PeerTransfer;
import java.lang.foreign.MemorySegment;

/**
 * All-gather on a ring, in place: every rank starts with its own chunk and passes on the chunks that it receives.
 *
 * <p>Steps: N-1, segmented. Bytes sent and received per rank: (N-1)/N of the whole, which is optimal.
 *
 * <p>Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005,
 * section 4.1.
 */
final class RingAllGather {
    private static final int AHEAD = 2;

    private RingAllGather() {}

    /** Fills {@code buffer}, which already has this rank's chunk. */
    static void run(PeerLinks links, MemorySegment buffer, Chunks chunks) {
        int size = links.size();
        Segments segments = Segments.of(chunks.longest());
        int total = (size - 1) * segments.count();
        int next = (links.rank() + 1) % size;
        int previous = Math.floorMod(links.rank() - 1, size);
        for (int unit = 0; unit < segments.count(); unit++) {
            links.send(next, segments.slice(chunks.slice(buffer, links.rank()), unit));
        }
        PeerTransfer[] posted = new PeerTransfer[AHEAD];
        for (int unit = 0; unit < Math.min(AHEAD, total); unit++) {
            posted[unit] = links.receive(previous, place(links, buffer, chunks, segments, unit));
        }
        for (int unit = 0; unit < total; unit++) {
            links.await(posted[unit % AHEAD]);
            if (unit + segments.count() < total) {
                links.send(next, place(links, buffer, chunks, segments, unit));
            }
            if (unit + AHEAD < total) {
                posted[unit % AHEAD] = links.receive(previous, place(links, buffer, chunks, segments, unit + AHEAD));
            }
        }
    }

    private static MemorySegment place(
            PeerLinks links, MemorySegment buffer, Chunks chunks, Segments segments, int unit) {
        int chunk = Math.floorMod(links.rank() - 1 - unit / segments.count(), links.size());
        return segments.slice(chunks.slice(buffer, chunk), unit % segments.count());
    }
}
