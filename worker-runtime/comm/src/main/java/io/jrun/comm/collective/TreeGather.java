package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Gather up and scatter down a binomial tree: a node sends or receives the blocks of its whole subtree in one message.
 *
 * <p>Steps: ceil(log2 N). Bytes: the root receives (gather) or sends (scatter) N-1 blocks in ceil(log2 N) messages; a
 * block travels up to log2(N) times. For small blocks, where the number of messages matters. Scratch memory: the
 * subtree's blocks.
 *
 * <p>Source: Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and
 * experience", 2007, section 3.
 */
final class TreeGather {
    private TreeGather() {}

    /**
     * Copies the {@code own} block of every rank into {@code whole} at the root. The other ranks pass an empty
     * {@code whole}.
     *
     * @param blocks blocks of the whole, by group rank
     */
    static void gather(PeerLinks links, MemorySegment own, MemorySegment whole, Chunks blocks, int root) {
        BinomialTree tree = BinomialTree.of(links, root);
        Chunks ordered = blocks.from(root);
        MemorySegment subtree = links.scratch(spanBytes(tree, ordered));
        part(tree, ordered, subtree, 0, 1).copyFrom(own);
        for (int distance = 1; distance < tree.reach(); distance *= 2) {
            if (tree.hasChild(distance)) {
                MemorySegment child = part(tree, ordered, subtree, distance, tree.childSpan(distance));
                links.await(links.receive(tree.child(distance), child));
            }
        }
        if (tree.isRoot()) {
            for (int virtual = 0; virtual < links.size(); virtual++) {
                blocks.slice(whole, tree.groupRank(virtual)).copyFrom(part(tree, ordered, subtree, virtual, 1));
            }
        } else {
            links.await(links.send(tree.parent(), part(tree, ordered, subtree, 0, tree.span())));
        }
    }

    /**
     * Copies to each rank its block of the root's {@code whole}. The other ranks pass an empty {@code whole}.
     *
     * @param blocks blocks of the whole, by group rank
     */
    static void scatter(PeerLinks links, MemorySegment whole, MemorySegment own, Chunks blocks, int root) {
        BinomialTree tree = BinomialTree.of(links, root);
        Chunks ordered = blocks.from(root);
        MemorySegment subtree = links.scratch(spanBytes(tree, ordered));
        if (tree.isRoot()) {
            for (int virtual = 0; virtual < links.size(); virtual++) {
                part(tree, ordered, subtree, virtual, 1).copyFrom(blocks.slice(whole, tree.groupRank(virtual)));
            }
        } else {
            links.await(links.receive(tree.parent(), part(tree, ordered, subtree, 0, tree.span())));
        }
        for (int distance = tree.reach() / 2; distance > 0; distance /= 2) {
            if (tree.hasChild(distance)) {
                links.send(tree.child(distance), part(tree, ordered, subtree, distance, tree.childSpan(distance)));
            }
        }
        own.copyFrom(part(tree, ordered, subtree, 0, 1));
    }

    private static long spanBytes(BinomialTree tree, Chunks ordered) {
        return ordered.offset(tree.virtual() + tree.span()) - ordered.offset(tree.virtual());
    }

    /**
     * Returns the blocks of {@code count} virtual ranks, the first {@code distance} after this rank, in the subtree's
     * memory.
     */
    private static MemorySegment part(
            BinomialTree tree, Chunks ordered, MemorySegment subtree, int distance, int count) {
        int first = tree.virtual() + distance;
        long start = ordered.offset(first) - ordered.offset(tree.virtual());
        return subtree.asSlice(start, ordered.offset(first + count) - ordered.offset(first));
    }
}
