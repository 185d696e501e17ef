package io.jrun.bench.collective;

import java.util.function.LongUnaryOperator;

/** An operation under measurement. Stateless. */
interface BenchedOperation {
    /** Its name on the command line and in the results. */
    String name();

    /** Bus bandwidth by algorithm bandwidth. Source: nccl-tests, doc/PERFORMANCE.md. */
    double busFactor(int ranks);

    /** Whether {@code --op} means something. */
    default boolean reduces() {
        return false;
    }

    /** Whether the size is parted into a block for each rank. */
    default boolean hasBlocks() {
        return false;
    }

    /** Whether there are sizes at all. */
    default boolean hasSize() {
        return true;
    }

    /** Runs it once. */
    void run(BenchCase cell);

    /** What {@link BenchCase#result} must hold afterwards on this rank. */
    Expected expected(BenchCase cell);

    /**
     * What a buffer must begin with.
     *
     * @param count elements from the beginning; 0 where this rank gets nothing
     * @param element by index
     */
    record Expected(long count, LongUnaryOperator element) {}
}
