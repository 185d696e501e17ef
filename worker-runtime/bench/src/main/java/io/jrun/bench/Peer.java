package io.jrun.bench;

import java.lang.foreign.MemorySegment;

/** One implementation of all-reduce under measurement, on memory it provides. */
interface Peer extends AutoCloseable {
    /** Its name on the command line and in the results. */
    String name();

    /** The float32 buffer of {@code count} elements that {@link #allReduceSum} works on. */
    MemorySegment buffer(long count);

    /** Sums the first {@code count} elements of the buffer over all ranks, in place. */
    void allReduceSum(long count);

    @Override
    void close();
}
