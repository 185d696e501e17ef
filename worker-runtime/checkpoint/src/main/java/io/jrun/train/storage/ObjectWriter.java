package io.jrun.train.storage;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Writes one object from its first byte to its last. Confined to one thread. */
public interface ObjectWriter extends AutoCloseable {
    /** Appends all remaining bytes. */
    void write(ByteBuffer bytes) throws IOException;

    /** Makes the object complete and durable. */
    void finish() throws IOException;

    /** Ends the writing. An object that is not finished is removed. */
    @Override
    void close() throws IOException;
}
