package io.jrun.bench.collective;

import java.util.function.LongUnaryOperator;

/** An operation that the benchmark measures. Stateless. */
interface BenchedOperation {
    /** The name on the command line and in the results. */
    String name();

    /** The bus bandwidth divided by the algorithm bandwidth. Source: nccl-tests, doc/PERFORMANCE.md. */
    double busFactor(int ranks);

    /** Whether {@code --op} applies. */
    default boolean reduces() {
        return false;
    }

    /** Whether the buffer has a block for each rank. */
    default boolean hasBlocks() {
        return false;
    }

    /** Whether the operation has a size. */
    default boolean hasSize() {
        return true;
    }

    /** Runs the operation once. */
    void run(BenchCase cell);

    /** Returns the expected content of {@link BenchCase#result} on this rank. */
    Expected expected(BenchCase cell);

    /**
     * The expected first elements of a buffer.
     *
     * @param count the number of elements; 0 if this rank gets nothing
     * @param element the element, by index
     */
    record Expected(long count, LongUnaryOperator element) {}
}
