package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * Gather up and scatter down a binomial tree: a node handles the blocks of its whole subtree in one message.
 *
 * <p>Steps: ceil(log2 N). Bytes: the root receives (gather) or sends (scatter) N-1 blocks in ceil(log2 N) messages; a block
 * travels up to log2(N) times. For small blocks, where messages are what costs. Scratch memory: the subtree's blocks.
 *
 * <p>Source: Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and experience",
 * 2007, section 3.
 */
final class TreeGather {
    private TreeGather() {}

    /** Brings every rank's {@code own} block into {@code whole} at the root, in rank order; others pass an empty one. */
    static void gather(Links links, MemorySegment own, MemorySegment whole, int root) {
        BinomialTree tree = BinomialTree.of(links, root);
        long block = own.byteSize();
        MemorySegment blocks = links.scratch(tree.span() * block);
        blocks.asSlice(0, block).copyFrom(own);
        for (int distance = 1; distance < tree.reach(); distance *= 2) {
            if (tree.hasChild(distance)) {
                MemorySegment subtree = blocks.asSlice(distance * block, tree.childSpan(distance) * block);
                links.await(links.receive(tree.child(distance), subtree));
            }
        }
        if (tree.isRoot()) {
            for (int virtual = 0; virtual < links.size(); virtual++) {
                MemorySegment target = whole.asSlice(tree.groupRank(virtual) * block, block);
                target.copyFrom(blocks.asSlice(virtual * block, block));
            }
        } else {
            links.await(links.send(tree.parent(), blocks.asSlice(0, tree.span() * block)));
        }
    }

    /** Brings each rank its block of the root's {@code whole} into {@code own}; others pass an empty whole. */
    static void scatter(Links links, MemorySegment whole, MemorySegment own, int root) {
        BinomialTree tree = BinomialTree.of(links, root);
        long block = own.byteSize();
        MemorySegment blocks = links.scratch(tree.span() * block);
        if (tree.isRoot()) {
            for (int virtual = 0; virtual < links.size(); virtual++) {
                MemorySegment source = whole.asSlice(tree.groupRank(virtual) * block, block);
                blocks.asSlice(virtual * block, block).copyFrom(source);
            }
        } else {
            links.await(links.receive(tree.parent(), blocks.asSlice(0, tree.span() * block)));
        }
        for (int distance = tree.reach() / 2; distance > 0; distance /= 2) {
            if (tree.hasChild(distance)) {
                links.send(tree.child(distance), blocks.asSlice(distance * block, tree.childSpan(distance) * block));
            }
        }
        own.copyFrom(blocks.asSlice(0, block));
    }
}
