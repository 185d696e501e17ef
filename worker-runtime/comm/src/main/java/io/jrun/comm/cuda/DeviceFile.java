package io.jrun.comm.cuda;

import io.jrun.comm.file.DirectFile;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;

/** A file that a GPU reads by GPUDirect Storage. Thread-safe, but for {@link #close}. */
public final class DeviceFile implements AutoCloseable {
    private final GpuDirectStorage storage;
    private final CuFile library;
    private final DirectFile file;
    private final MemorySegment handle;
    private final DirectBuffer buffer;

    DeviceFile(GpuDirectStorage storage, CuFile library, DirectFile file, MemorySegment handle, DirectBuffer buffer) {
        this.storage = storage;
        this.library = library;
        this.file = file;
        this.handle = handle;
        this.buffer = buffer;
    }

    /** libcufile's handle of the file. */
    MemorySegment handle() {
        return handle;
    }

    /**
     * Fills memory of the GPU for which the file was opened. The bytes are there when the method returns.
     *
     * @throws EOFException if the file ends before
     * @throws InterruptedIOException if the GPU is late
     * @throws IOException if libcufile reports an error; the message names the setting that avoids libcufile
     */
    public void read(long position, MemorySegment destination) throws IOException {
        try {
            buffer.read(this, position, destination);
        } catch (EOFException | InterruptedIOException e) {
            throw e;
        } catch (IOException | IllegalStateException e) {
            throw new IOException(
                    e.getMessage() + ". " + GpuDirectStorage.VARIABLE + "=off reads through host memory", e);
        }
    }

    @Override
    public void close() {
        buffer.forget(this);
        try (file) {
            library.deregisterFile(handle);
        } finally {
            storage.release(buffer);
        }
    }
}
