package io.jrun.comm.collective;

/**
 * A rank's position in the binomial tree over {@code size} ranks with a given root. Ranks are numbered from the root
 * ({@code virtual}). The subtree of a node has the virtual ranks {@code [virtual, virtual + span)}.
 *
 * <p>Source: Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and
 * experience", 2007, section 3 (minimum spanning tree).
 *
 * @param size number of ranks
 * @param root group rank of the root
 * @param virtual virtual rank of this rank: its number counted from the root
 */
record BinomialTree(int size, int root, int virtual) {
    static BinomialTree of(PeerLinks links, int root) {
        return new BinomialTree(links.size(), root, Math.floorMod(links.rank() - root, links.size()));
    }

    boolean isRoot() {
        return virtual == 0;
    }

    /** Distance to the parent: the lowest set bit. For the root: the first power of two that covers all ranks. */
    int reach() {
        return isRoot() ? coveringPowerOfTwo() : Integer.lowestOneBit(virtual);
    }

    private int coveringPowerOfTwo() {
        int power = Integer.highestOneBit(size);
        return power == size ? power : 2 * power;
    }

    /** Group rank of the parent. */
    int parent() {
        return groupRank(virtual - reach());
    }

    /** Whether there is a child at {@code distance}, a power of two below {@link #reach}. */
    boolean hasChild(int distance) {
        return virtual + distance < size;
    }

    /** Group rank of the child at {@code distance}. */
    int child(int distance) {
        return groupRank(virtual + distance);
    }

    /** Number of ranks in the subtree of the child at {@code distance}. */
    int childSpan(int distance) {
        return Math.min(distance, size - virtual - distance);
    }

    /** Number of ranks in this node's subtree. */
    int span() {
        return Math.min(reach(), size - virtual);
    }

    /** Group rank of a virtual rank. */
    int groupRank(int virtualRank) {
        return (virtualRank + root) % size;
    }
}
