package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Broadcast down a binomial tree, the farthest subtree first.
 *
 * <p>Steps: ceil(log2 N). Bytes: every rank but the root receives the buffer once; the root sends it ceil(log2 N)
 * times. For small buffers.
 *
 * <p>Source: Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and
 * experience", 2007, section 3.
 */
final class TreeBroadcast {
    private TreeBroadcast() {}

    /** Copies the root's {@code buffer} to every rank. */
    static void run(PeerLinks links, MemorySegment buffer, int root) {
        BinomialTree tree = BinomialTree.of(links, root);
        if (!tree.isRoot()) {
            links.await(links.receive(tree.parent(), buffer));
        }
        for (int distance = tree.reach() / 2; distance > 0; distance /= 2) {
            if (tree.hasChild(distance)) {
                links.send(tree.child(distance), buffer);
            }
        }
    }
}
