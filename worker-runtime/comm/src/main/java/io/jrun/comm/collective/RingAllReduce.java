package io.jrun.comm.collective;

import io.jrun.comm.collective.PeerLinks.PeerTransfer;
import java.lang.foreign.MemorySegment;

/**
 * All-reduce on a ring, in place: a reduce-scatter, in which each chunk travels once around the ring and every rank
 * adds its contribution, then an all-gather, in which the finished chunks travel around the ring again.
 *
 * <p>Steps: 2(N-1), each divided into segments so that the reduction of one segment overlaps the transfer of the next.
 * Bytes sent and received per rank: 2(N-1)/N of the buffer, which is optimal. One rank finishes each chunk, so all
 * ranks get equal bits; the order of the operands depends on the chunk.
 *
 * <p>Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009.
 */
final class RingAllReduce {
    /** The number of receives posted ahead: one receive is filled during the reduction of the one before. */
    private static final int AHEAD = 2;

    private final PeerLinks links;
    private final Reduction reduction;
    private final MemorySegment buffer;
    private final Chunks chunks;
    private final Segments segments;
    private final MemorySegment landing;

    private RingAllReduce(PeerLinks links, Reduction reduction, MemorySegment buffer, Chunks chunks) {
        this.links = links;
        this.reduction = reduction;
        this.buffer = buffer;
        this.chunks = chunks;
        this.segments = Segments.of(chunks.longest());
        this.landing = links.scratch(AHEAD * segments.bytes());
    }

    /** Reduces {@code buffer} over all ranks. */
    static void run(PeerLinks links, Reduction reduction, MemorySegment buffer, Chunks chunks) {
        new RingAllReduce(links, reduction, buffer, chunks).run();
    }

    // Unit i is segment (i % segments) of step (i / segments). The data of unit i is sent on one step later.
    private void run() {
        int total = 2 * (links.size() - 1) * segments.count();
        int next = (links.rank() + 1) % links.size();
        for (int unit = 0; unit < segments.count(); unit++) {
            links.send(next, inBuffer(unit, 0));
        }
        PeerTransfer[] posted = new PeerTransfer[AHEAD];
        for (int unit = 0; unit < Math.min(AHEAD, total); unit++) {
            posted[unit] = post(unit);
        }
        for (int unit = 0; unit < total; unit++) {
            links.await(posted[unit % AHEAD]);
            fold(unit);
            if (unit + segments.count() < total) {
                links.send(next, inBuffer(unit, 1));
            }
            if (unit + AHEAD < total) {
                posted[unit % AHEAD] = post(unit + AHEAD);
            }
        }
    }

    private PeerTransfer post(int unit) {
        int previous = Math.floorMod(links.rank() - 1, links.size());
        return links.receive(previous, isFolding(unit) ? landed(unit) : inBuffer(unit, 1));
    }

    private void fold(int unit) {
        if (!isFolding(unit)) {
            return;
        }
        MemorySegment accumulator = inBuffer(unit, 1);
        reduction.fold(accumulator, landed(unit));
        if (step(unit) == links.size() - 2) {
            reduction.finish(accumulator);
        }
    }

    private int step(int unit) {
        return unit / segments.count();
    }

    private boolean isFolding(int unit) {
        return step(unit) < links.size() - 1;
    }

    // A receive cannot overwrite data that an earlier send of this rank still reads: data for the same chunk comes
    // back only after the ring has received that send.
    private MemorySegment inBuffer(int unit, int stepsLater) {
        int chunk = Math.floorMod(links.rank() - step(unit) - stepsLater, links.size());
        return segments.slice(chunks.slice(buffer, chunk), unit % segments.count());
    }

    private MemorySegment landed(int unit) {
        return landing.asSlice(
                unit % AHEAD * segments.bytes(), inBuffer(unit, 1).byteSize());
    }
}
