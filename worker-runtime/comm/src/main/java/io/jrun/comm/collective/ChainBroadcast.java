package io.jrun.comm.collective;

import io.jrun.comm.collective.PeerLinks.PeerTransfer;
import java.lang.foreign.MemorySegment;

/**
 * Broadcast along a chain of all ranks that starts at the root. Every rank passes a segment on while it receives the
 * next.
 *
 * <p>Steps: N-2 plus the number of segments. Bytes: every rank but the last sends the buffer once, every rank but the
 * root receives the buffer once. For large buffers: the time is the time of one transfer, independent of N.
 *
 * <p>Source: van de Geijn and Watts, "SUMMA", 1997, section 5 (pipelined broadcast).
 */
final class ChainBroadcast {
    private static final int AHEAD = 2;

    private ChainBroadcast() {}

    /** Copies the root's {@code buffer} to every rank. */
    static void run(PeerLinks links, MemorySegment buffer, int root) {
        int size = links.size();
        int place = Math.floorMod(links.rank() - root, size);
        int next = (links.rank() + 1) % size;
        int previous = Math.floorMod(links.rank() - 1, size);
        Segments segments = Segments.of(buffer.byteSize());
        PeerTransfer[] incoming = new PeerTransfer[AHEAD];
        for (int unit = 0; place > 0 && unit < Math.min(AHEAD, segments.count()); unit++) {
            incoming[unit] = links.receive(previous, segments.slice(buffer, unit));
        }
        for (int unit = 0; unit < segments.count(); unit++) {
            if (place > 0) {
                links.await(incoming[unit % AHEAD]);
                if (unit + AHEAD < segments.count()) {
                    incoming[unit % AHEAD] = links.receive(previous, segments.slice(buffer, unit + AHEAD));
                }
            }
            if (place < size - 1) {
                links.send(next, segments.slice(buffer, unit));
            }
        }
    }
}
