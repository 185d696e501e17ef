package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Reduce up a binomial tree, segment by segment: every rank reduces its children's partial results into its own, and
 * sends the sum to its parent.
 *
 * <p>Steps: ceil(log2 N), segmented. Bytes: every rank but the root sends the buffer once; a node receives the buffer
 * once per child. Only the root's buffer changes.
 *
 * <p>Source: Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and
 * experience", 2007, section 3.
 */
final class TreeReduce {
    private TreeReduce() {}

    /** Reduces the {@code buffer} of every rank into the root's. */
    static void run(PeerLinks links, Reduction reduction, MemorySegment buffer, int root) {
        BinomialTree tree = BinomialTree.of(links, root);
        Segments segments = Segments.of(buffer.byteSize());
        MemorySegment scratch = links.scratch(2 * segments.bytes());
        for (int unit = 0; unit < segments.count(); unit++) {
            MemorySegment own = segments.slice(buffer, unit);
            MemorySegment partial =
                    tree.isRoot() ? own : scratch.asSlice(0, own.byteSize()).copyFrom(own);
            MemorySegment landing = scratch.asSlice(segments.bytes(), own.byteSize());
            for (int distance = 1; distance < tree.reach(); distance *= 2) {
                if (tree.hasChild(distance)) {
                    links.await(links.receive(tree.child(distance), landing));
                    reduction.fold(partial, landing);
                }
            }
            if (tree.isRoot()) {
                reduction.finish(partial);
            } else {
                links.await(links.send(tree.parent(), partial));
            }
        }
    }
}
