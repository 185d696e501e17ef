package io.jrun.comm.collective;

import io.jrun.comm.collective.PeerLinks.PeerTransfer;
import java.lang.foreign.MemorySegment;

/**
 * Reduce-scatter on a ring: the partial result of each chunk starts at the right neighbour of its owner and travels
 * around the ring to its owner. Every rank on the way adds its own contribution.
 *
 * <p>Steps: N-1, segmented. Bytes sent and received per rank: (N-1)/N of the input, which is optimal. Partial results
 * pass through scratch memory of two chunks, so the output may be this rank's own chunk of the input.
 *
 * <p>Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009.
 */
final class RingReduceScatter {
    private static final int AHEAD = 2;

    private final PeerLinks links;
    private final Reduction reduction;
    private final MemorySegment input;
    private final MemorySegment output;
    private final MemorySegment spare;
    private final Chunks chunks;
    private final Segments segments;
    private final PeerTransfer[] sends;

    private RingReduceScatter(
            PeerLinks links, Reduction reduction, MemorySegment input, MemorySegment output, Chunks chunks) {
        this.links = links;
        this.reduction = reduction;
        this.input = input;
        this.output = output;
        this.chunks = chunks;
        this.segments = Segments.of(chunks.longest());
        this.spare = links.scratch(scratchBytes(chunks));
        this.sends = new PeerTransfer[2 * segments.count()];
    }

    /** Size in bytes of the scratch memory that {@link #run} uses, from its beginning. */
    static long scratchBytes(Chunks chunks) {
        return 2 * chunks.longest();
    }

    /** Reduces {@code input} over all ranks. Chunk {@code rank} of the result is in {@code output}. */
    static void run(PeerLinks links, Reduction reduction, MemorySegment input, MemorySegment output, Chunks chunks) {
        new RingReduceScatter(links, reduction, input, output, chunks).run();
    }

    // Unit i is segment (i % segments) of step (i / segments). The reduced data of unit i is sent as send
    // (i + segments).
    private void run() {
        int total = (links.size() - 1) * segments.count();
        int next = (links.rank() + 1) % links.size();
        for (int unit = 0; unit < segments.count(); unit++) {
            sends[unit] = links.send(next, contribution(unit, 0));
        }
        PeerTransfer[] posted = new PeerTransfer[AHEAD];
        for (int unit = 0; unit < Math.min(AHEAD, total); unit++) {
            posted[unit] = post(unit);
        }
        for (int unit = 0; unit < total; unit++) {
            links.await(posted[unit % AHEAD]);
            MemorySegment partial = landed(unit);
            reduction.fold(partial, contribution(unit, 1));
            int send = unit + segments.count();
            if (send < total) {
                sends[send % sends.length] = links.send(next, partial);
            } else {
                reduction.finish(partial);
                segments.slice(output, unit % segments.count()).copyFrom(partial);
            }
            if (unit + AHEAD < total) {
                posted[unit % AHEAD] = post(unit + AHEAD);
            }
        }
    }

    private PeerTransfer post(int unit) {
        // The last use of this memory was two steps ago, by a partial result that was sent as send (unit - segments).
        if (unit >= 2 * segments.count()) {
            links.await(sends[(unit - segments.count()) % sends.length]);
        }
        return links.receive(Math.floorMod(links.rank() - 1, links.size()), landed(unit));
    }

    private MemorySegment contribution(int unit, int stepsLater) {
        return segments.slice(chunks.slice(input, chunkOf(unit, stepsLater)), unit % segments.count());
    }

    // Two places are used alternately: a step is received in one place while the data of the other is still being sent.
    private MemorySegment landed(int unit) {
        int step = unit / segments.count();
        MemorySegment place = spare.asSlice(step % 2 * chunks.longest(), chunks.length(chunkOf(unit, 1)));
        return segments.slice(place, unit % segments.count());
    }

    private int chunkOf(int unit, int stepsLater) {
        return Math.floorMod(links.rank() - 1 - unit / segments.count() - stepsLater, links.size());
    }
}
