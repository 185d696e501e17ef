package io.jrun.bench.collective;

/** An operation whose size is parted into a block for each rank, all but one of which travel. */
interface BlockOperation extends BenchedOperation {
    @Override
    default double busFactor(int ranks) {
        return (ranks - 1.0) / ranks;
    }

    @Override
    default boolean hasBlocks() {
        return true;
    }
}
