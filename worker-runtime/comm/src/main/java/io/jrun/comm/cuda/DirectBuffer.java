package io.jrun.comm.cuda;

import io.jrun.comm.Device;
import io.jrun.comm.file.DirectFile;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory of a GPU into which libcufile reads. A read begins and ends at a multiple of
 * {@link DirectFile#ALIGNMENT}, and tensors do not: the GPU copies the bytes of a tensor from here to the tensor. The
 * bytes of the last read stay here, because the next tensor of a file often begins in the last block. Thread-safe but
 * for the count of users.
 */
final class DirectBuffer {
    /** NVIDIA's guide advises reads of 1 MiB and more. Files that are open at the same time share the buffer. */
    static final int BYTES = 16 << 20;

    private static final long ASK_NANOS = 5_000;

    private final CuFile library;
    private final Cuda cuda;
    private final Device device;
    private final MemorySegment memory;
    private final Duration timeout;
    private int users;

    /** The file and the range of the bytes in the memory. */
    private @Nullable DeviceFile owner;

    private long begin;
    private long end;

    private DirectBuffer(CuFile library, Cuda cuda, Device device, MemorySegment memory, Duration timeout) {
        this.library = library;
        this.cuda = cuda;
        this.device = device;
        this.memory = memory;
        this.timeout = timeout;
    }

    /**
     * Allocates and registers memory of the current device.
     *
     * @param timeout longest wait for a copy of the GPU
     */
    static DirectBuffer allocate(CuFile library, Cuda cuda, Device device, Duration timeout) throws IOException {
        MemorySegment memory = cuda.device(BYTES).reinterpret(BYTES);
        try {
            library.registerMemory(memory);
        } catch (IOException e) {
            cuda.freeDevice(memory);
            throw e;
        }
        return new DirectBuffer(library, cuda, device, memory, timeout);
    }

    Device device() {
        return device;
    }

    void addUser() {
        users++;
    }

    /** Whether the buffer has no user any more. */
    boolean removeUser() {
        users--;
        return users == 0;
    }

    /**
     * Fills memory of the device. The copies run on the default stream, after all earlier work on the memory. The method
     * waits for the copies, because the next read does not.
     *
     * @throws EOFException if the file ends before
     * @throws InterruptedIOException if a copy does not end within the timeout
     */
    synchronized void read(DeviceFile file, long position, MemorySegment destination) throws IOException {
        cuda.use(device.index());
        for (long done = 0; done < destination.byteSize(); ) {
            long at = position + done;
            if (owner != file || at < begin || at >= end) {
                load(file, at, destination.byteSize() - done);
            }
            long count = Math.min(end - at, destination.byteSize() - done);
            cuda.copy(
                    destination.asSlice(done),
                    memory.asSlice(at - begin),
                    count,
                    Cuda.DEVICE_TO_DEVICE,
                    Cuda.DEFAULT_STREAM);
            awaitCopy(count);
            done += count;
        }
    }

    private void awaitCopy(long bytes) throws InterruptedIOException {
        long begin = System.nanoTime();
        while (!cuda.isDone(Cuda.DEFAULT_STREAM)) {
            if (System.nanoTime() - begin > timeout.toNanos()) {
                throw new InterruptedIOException("a copy of " + bytes + " bytes on " + device + " has not ended within "
                        + timeout + ": the work of the GPU before the copy has not ended. Find the kernel or the"
                        + " collective that does not end");
            }
            LockSupport.parkNanos(ASK_NANOS);
        }
    }

    /** Reads whole blocks of the file, from the block of {@code position} on, until {@code wanted} bytes are there. */
    private void load(DeviceFile file, long position, long wanted) throws IOException {
        owner = null;
        begin = position / DirectFile.ALIGNMENT * DirectFile.ALIGNMENT;
        long last = Math.ceilDiv(position + wanted, DirectFile.ALIGNMENT) * DirectFile.ALIGNMENT;
        long length = Math.min(BYTES, last - begin);
        long least = Math.min(begin + length, position + wanted);
        end = begin;
        while (end < least) {
            // A read that ended inside of a block goes on at the begin of the block.
            long from = end / DirectFile.ALIGNMENT * DirectFile.ALIGNMENT;
            long reached = from + library.read(file.handle(), from, memory, from - begin, begin + length - from);
            if (reached <= end) {
                throw new EOFException(
                        "the file ends at byte " + end + "; another process has shortened the file during the read");
            }
            end = reached;
        }
        owner = file;
    }

    /** The file is closed: a later file may have the same object. */
    synchronized void forget(DeviceFile file) {
        if (owner == file) {
            owner = null;
        }
    }

    /** Frees the memory, which no file uses. */
    void close() {
        try {
            cuda.use(device.index());
            library.deregisterMemory(memory);
        } catch (IOException e) {
            throw new IllegalStateException(e.getMessage(), e);
        } finally {
            cuda.freeDevice(memory);
        }
    }
}
