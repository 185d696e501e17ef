package io.jrun.train.storage;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Reads one object. Thread-safe. */
public interface ObjectReader extends AutoCloseable {
    /** Bytes of the object. */
    long size() throws IOException;

    /**
     * Fills the buffer from a position on.
     *
     * @throws java.io.EOFException if the object ends before
     */
    void read(long position, ByteBuffer destination) throws IOException;

    /** The number of bytes for which one {@link #read} is efficient. */
    int pieceBytes();

    @Override
    void close() throws IOException;
}
