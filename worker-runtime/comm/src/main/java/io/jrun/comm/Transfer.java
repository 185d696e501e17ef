package io.jrun.comm;

import java.lang.foreign.MemorySegment;

/** One of the messages of {@link Messages#exchange}. */
public sealed interface Transfer {
    /** A message to {@code destination}. */
    record Send(MemorySegment buffer, DataType type, long count, int destination, int tag) implements Transfer {}

    /** A message from {@code source}, which may be {@link Messages#ANY_SOURCE}. */
    record Recv(MemorySegment buffer, DataType type, long count, int source, int tag) implements Transfer {}
}
