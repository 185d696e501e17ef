package io.jrun.bench.collective;

/** An operation with a block for each rank. A rank sends or receives all blocks except its own. */
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
