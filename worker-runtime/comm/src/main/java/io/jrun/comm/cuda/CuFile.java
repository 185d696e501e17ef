package io.jrun.comm.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.jrun.comm.file.SystemErrors;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.List;

/**
 * The functions of libcufile, by which a GPU reads files without a copy in host memory (GPUDirect Storage). A failed
 * function throws IOException with the number and the words of the error. Immutable. Source: NVIDIA's cuFile API
 * reference guide.
 */
public final class CuFile {
    /** The file of the library. */
    public static final String FILE = "libcufile.so.0";

    private static final int OPAQUE_DESCRIPTOR = 1;
    private static final int CUDA_DRIVER_ERROR = 5011;

    /** CU_FILE_NVME_P2P_SUPPORTED of dstatusflags. */
    private static final int NVME_PEER_TO_PEER = 1 << 11;

    /** CUfileError_t: the error of libcufile, and of CUDA if libcufile's is 5011. Returned by value. */
    private static final StructLayout ERROR =
            MemoryLayout.structLayout(JAVA_INT.withName("err"), JAVA_INT.withName("cu_err"));

    /** CUfileDescr_t; the union of a descriptor and a pointer begins with the descriptor. */
    private static final StructLayout DESCRIPTION = MemoryLayout.structLayout(
            JAVA_INT.withName("type"),
            MemoryLayout.paddingLayout(4),
            JAVA_INT.withName("fd"),
            MemoryLayout.paddingLayout(4),
            ADDRESS.withName("fs_ops"));

    private static final long TYPE = DESCRIPTION.byteOffset(PathElement.groupElement("type"));
    private static final long DESCRIPTOR = DESCRIPTION.byteOffset(PathElement.groupElement("fd"));

    /** CUfileDrvProps_t. */
    private static final StructLayout PROPERTIES = MemoryLayout.structLayout(
            JAVA_INT.withName("major_version"),
            JAVA_INT.withName("minor_version"),
            JAVA_LONG.withName("poll_thresh_size"),
            JAVA_LONG.withName("max_direct_io_size"),
            JAVA_INT.withName("dstatusflags"),
            JAVA_INT.withName("dcontrolflags"),
            MemoryLayout.sequenceLayout(6, JAVA_INT).withName("rest"));

    private static final long MAJOR_VERSION = PROPERTIES.byteOffset(PathElement.groupElement("major_version"));
    private static final long STATUS_FLAGS = PROPERTIES.byteOffset(PathElement.groupElement("dstatusflags"));

    private static final MemoryLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(PathElement.groupElement("errno"));

    private final MethodHandle openDriver;
    private final MethodHandle closeDriver;
    private final MethodHandle properties;
    private final MethodHandle registerFile;
    private final MethodHandle deregisterFile;
    private final MethodHandle registerMemory;
    private final MethodHandle deregisterMemory;
    private final MethodHandle read;

    private CuFile(NativeLibrary library) {
        this.openDriver = library.function("cuFileDriverOpen", FunctionDescriptor.of(ERROR));
        this.closeDriver = library.function("cuFileDriverClose", FunctionDescriptor.of(ERROR));
        this.properties = library.function("cuFileDriverGetProperties", FunctionDescriptor.of(ERROR, ADDRESS));
        this.registerFile = library.function("cuFileHandleRegister", FunctionDescriptor.of(ERROR, ADDRESS, ADDRESS));
        this.deregisterFile = library.function("cuFileHandleDeregister", FunctionDescriptor.ofVoid(ADDRESS));
        this.registerMemory =
                library.function("cuFileBufRegister", FunctionDescriptor.of(ERROR, ADDRESS, JAVA_LONG, JAVA_INT));
        this.deregisterMemory = library.function("cuFileBufDeregister", FunctionDescriptor.of(ERROR, ADDRESS));
        this.read = library.function(
                "cuFileRead",
                FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                Linker.Option.captureCallState("errno"));
    }

    /**
     * Loads the library.
     *
     * @throws MissingLibraryException if the library is missing or too old
     */
    public static CuFile open() {
        return new CuFile(NativeLibrary.open(List.of(FILE))
                .orElseThrow(
                        () -> new MissingLibraryException(FILE + " is missing. Install NVIDIA's GPUDirect Storage, or"
                                + " name the folder of the library in " + CudaLibraries.PATH_VARIABLE)));
    }

    /** Opens the driver for this process. The current device of the thread gets a context. */
    public void openDriver() throws IOException {
        check(allocator -> (MemorySegment) openDriver.invokeExact(allocator), "cuFileDriverOpen");
    }

    /** Closes the driver. The library closes it too when the process ends. */
    public void closeDriver() throws IOException {
        check(allocator -> (MemorySegment) closeDriver.invokeExact(allocator), "cuFileDriverClose");
    }

    /**
     * Whether the open driver can bring bytes of files into device memory without host memory: by the kernel module
     * nvidia-fs, or by peer-to-peer transfers of NVMe devices. Without both the library copies through host memory.
     */
    public boolean isDirect() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(PROPERTIES);
            check(allocator -> (MemorySegment) properties.invokeExact(allocator, found), "cuFileDriverGetProperties");
            return found.get(JAVA_INT, MAJOR_VERSION) > 0
                    || (found.get(JAVA_INT, STATUS_FLAGS) & NVME_PEER_TO_PEER) != 0;
        }
    }

    /**
     * Registers an open file. Fails if the file system does not support GPUDirect Storage.
     *
     * @param descriptor open with O_DIRECT; stays open until {@link #deregisterFile}
     */
    public MemorySegment registerFile(int descriptor) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ADDRESS);
            MemorySegment description = arena.allocate(DESCRIPTION);
            description.set(JAVA_INT, TYPE, OPAQUE_DESCRIPTOR);
            description.set(JAVA_INT, DESCRIPTOR, descriptor);
            check(
                    allocator -> (MemorySegment) registerFile.invokeExact(allocator, place, description),
                    "cuFileHandleRegister");
            return place.get(ADDRESS, 0);
        }
    }

    /** Ends the registration of a file. */
    public void deregisterFile(MemorySegment file) {
        try {
            deregisterFile.invokeExact(file);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Registers memory of the current device, so that reads need no further buffer. */
    public void registerMemory(MemorySegment memory) throws IOException {
        check(
                allocator -> (MemorySegment) registerMemory.invokeExact(allocator, memory, memory.byteSize(), 0),
                "cuFileBufRegister of " + memory.byteSize() + " bytes");
    }

    /** Ends the registration of memory. */
    public void deregisterMemory(MemorySegment memory) throws IOException {
        check(allocator -> (MemorySegment) deregisterMemory.invokeExact(allocator, memory), "cuFileBufDeregister");
    }

    /**
     * Reads into device memory. The bytes are in the memory when the method returns. The read does not wait for work on
     * streams.
     *
     * @param memory the begin of registered memory of the current device
     * @param offset the first byte of the memory to fill
     * @return the number of bytes, at most {@code bytes}; 0 at the end of the file
     */
    public long read(MemorySegment file, long position, MemorySegment memory, long offset, long bytes)
            throws IOException {
        long count;
        int errno;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(STATE);
            count = (long) read.invokeExact(state, file, memory, bytes, position, offset);
            errno = (int) ERRNO.get(state, 0L);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
        if (count < 0) {
            String what = "cuFileRead of " + bytes + " bytes from byte " + position + " on";
            throw count == -1
                    ? new IOException(what + ": " + SystemErrors.words(errno))
                    : new IOException(failure(what, (int) Math.min(Integer.MAX_VALUE, -count)));
        }
        return count;
    }

    private interface Function {
        MemorySegment call(SegmentAllocator allocator) throws Throwable;
    }

    private static void check(Function function, String what) throws IOException {
        int code;
        int ofCuda;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment error = function.call(arena);
            code = error.get(JAVA_INT, 0);
            ofCuda = error.get(JAVA_INT, Integer.BYTES);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
        if (code != 0) {
            String failure = failure(what, code);
            throw new IOException(code == CUDA_DRIVER_ERROR ? failure + ", CUDA error " + ofCuda : failure);
        }
    }

    private static String failure(String what, int code) {
        return what + " failed with cuFile error " + code + " (" + CuFileError.words(code) + ")";
    }
}
