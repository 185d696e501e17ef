package io.jrun.comm;

import java.lang.foreign.MemorySegment;

/** One of the messages of {@link Messages#exchange}. */
public sealed interface Transfer {
    /** A message to {@code destination}. */
    record Send(Buffer buffer, int destination, int tag) implements Transfer {
        /** A message of the first {@code count} elements of host memory. */
        public Send(MemorySegment memory, DataType type, long count, int destination, int tag) {
            this(Buffer.ofHost(memory, type, count), destination, tag);
        }
    }

    /** A message from {@code source}, which may be {@link Messages#ANY_SOURCE}. */
    record Recv(Buffer buffer, int source, int tag) implements Transfer {
        /** A message into the first {@code count} elements of host memory. */
        public Recv(MemorySegment memory, DataType type, long count, int source, int tag) {
            this(Buffer.ofHost(memory, type, count), source, tag);
        }
    }
}
