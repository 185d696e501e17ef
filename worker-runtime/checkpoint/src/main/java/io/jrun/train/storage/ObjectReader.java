package io.jrun.train.storage;

import io.jrun.comm.Device;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;

/**
 * Reads one object: into memory of the host, and into memory of a device where {@link #place} says so. Thread-safe.
 */
public interface ObjectReader extends AutoCloseable {
    /** Bytes of one read call: large enough for a network file system, small enough for the page cache. */
    long CALL_BYTES = 8L << 20;

    /** Bytes of the object. */
    long size() throws IOException;

    /**
     * Fills the buffer from a position on.
     *
     * @throws java.io.EOFException if the object ends before
     */
    void read(long position, ByteBuffer destination) throws IOException;

    /**
     * The device into whose memory the object is read for tensors of a device: this device, or the CPU. The caller copies
     * from the CPU to the device.
     *
     * @throws IOException if a setting of the program is unusable
     */
    default Device place(Device wanted) throws IOException {
        return Device.CPU;
    }

    /**
     * Fills memory from a position on. The bytes are there when the method returns.
     *
     * @param destination native memory of the device
     * @param device the CPU, or a device that {@link #place} has returned
     * @throws java.io.EOFException if the object ends before
     */
    default void read(long position, MemorySegment destination, Device device) throws IOException {
        if (!device.isCpu()) {
            throw new IllegalArgumentException("this object is read into host memory, not into " + device);
        }
        for (long at = 0; at < destination.byteSize(); at += CALL_BYTES) {
            long count = Math.min(CALL_BYTES, destination.byteSize() - at);
            read(position + at, destination.asSlice(at, count).asByteBuffer());
        }
    }

    /** The number of bytes for which one {@link #read} is efficient. */
    int pieceBytes();

    @Override
    void close() throws IOException;
}
