package io.jrun.comm.collective;

import io.jrun.comm.collective.PeerLinks.PeerTransfer;
import java.lang.foreign.MemorySegment;

/**
 * Deterministic reduce-scatter: every rank sends each owner its contribution to the owner's chunk, and the owner
 * reduces all contributions in ascending group rank, {@code ((r0 + r1) + r2) + ...}. The result of an element therefore
 * depends neither on its chunk, nor on its buffer, nor on the transport.
 *
 * <p>Steps: one, in segments. Bytes sent and received per rank: (N-1)/N of the input, as the ring, but over N-1
 * connections. Scratch memory: N segments.
 *
 * <p>Source: the "direct" (pairwise exchange) reduce-scatter of Thakur, Rabenseifner and Gropp, "Optimization of
 * collective communication operations in MPICH", 2005, section 4.4, with a fixed order of operands.
 */
final class DirectReduceScatter {
    private DirectReduceScatter() {}

    /** Size in bytes of the scratch memory that {@link #run} uses, from its beginning. */
    static long scratchBytes(PeerLinks links, Chunks chunks) {
        return links.size() * Segments.of(chunks.longest()).bytes();
    }

    /**
     * Reduces {@code input} over all ranks. Chunk {@code rank} of the result is in {@code output}, which may be that
     * chunk of {@code input} itself.
     */
    static void run(PeerLinks links, Reduction reduction, MemorySegment input, MemorySegment output, Chunks chunks) {
        int size = links.size();
        int rank = links.rank();
        Segments segments = Segments.of(chunks.longest());
        MemorySegment scratch = links.scratch(scratchBytes(links, chunks));
        MemorySegment own = chunks.slice(input, rank);
        MemorySegment[] contributions = new MemorySegment[size];
        PeerTransfer[] incoming = new PeerTransfer[size];
        for (int unit = 0; unit < segments.count(); unit++) {
            MemorySegment result = segments.slice(output, unit);
            for (int distance = 1; distance < size; distance++) {
                int from = Math.floorMod(rank - distance, size);
                contributions[from] = scratch.asSlice(from * segments.bytes(), result.byteSize());
                incoming[from] = links.receive(from, contributions[from]);
                int to = (rank + distance) % size;
                links.send(to, segments.slice(chunks.slice(input, to), unit));
            }
            contributions[rank] = segments.slice(own, unit);
            for (int distance = 1; distance < size; distance++) {
                links.await(incoming[Math.floorMod(rank - distance, size)]);
            }
            reduction.foldInRankOrder(contributions, result);
        }
    }
}
