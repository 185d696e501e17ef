package io.jrun.train.nccl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.jrun.comm.cuda.MissingLibraryException;
import io.jrun.comm.cuda.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;

/** NCCL's functions. Immutable. */
final class Nccl {
    static final int SUCCESS = 0;
    static final int IN_PROGRESS = 7;
    static final int ID_BYTES = 128;

    /** ncclUniqueId, which is passed by value. */
    static final StructLayout UNIQUE_ID = MemoryLayout.structLayout(
            MemoryLayout.sequenceLayout(ID_BYTES, JAVA_BYTE).withName("internal"));

    /** The first version with non-blocking communicators and the configuration of ncclCommSplit. */
    private static final int OLDEST = 21800;

    private static final String FILE = "libnccl.so.2";

    final MethodHandle allReduce;
    final MethodHandle broadcast;
    final MethodHandle reduce;
    final MethodHandle allGather;
    final MethodHandle reduceScatter;
    final MethodHandle send;
    final MethodHandle receive;

    private final MethodHandle version;
    private final MethodHandle uniqueId;
    private final MethodHandle initialise;
    private final MethodHandle asyncError;
    private final MethodHandle abort;
    private final MethodHandle groupStart;
    private final MethodHandle groupEnd;

    private Nccl(NativeLibrary library) {
        version = library.function("ncclGetVersion", ADDRESS);
        uniqueId = library.function("ncclGetUniqueId", ADDRESS);
        initialise = library.function("ncclCommInitRankConfig", ADDRESS, JAVA_INT, UNIQUE_ID, JAVA_INT, ADDRESS);
        asyncError = library.function("ncclCommGetAsyncError", ADDRESS, ADDRESS);
        abort = library.function("ncclCommAbort", ADDRESS);
        groupStart = library.function("ncclGroupStart");
        groupEnd = library.function("ncclGroupEnd");
        allReduce =
                library.function("ncclAllReduce", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
        broadcast =
                library.function("ncclBroadcast", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
        reduce = library.function(
                "ncclReduce", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
        allGather = library.function("ncclAllGather", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS);
        reduceScatter = library.function(
                "ncclReduceScatter", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
        send = library.function("ncclSend", ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
        receive = library.function("ncclRecv", ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
    }

    /**
     * @throws MissingLibraryException if NCCL is missing or too old
     */
    static Nccl open() {
        NativeLibrary library = NativeLibrary.open(List.of(FILE))
                .orElseThrow(() -> new MissingLibraryException(FILE
                        + " is not installed. Install NCCL 2.18 or newer (Debian, Ubuntu: apt install libnccl2 from"
                        + " NVIDIA's repository), or put its folder on LD_LIBRARY_PATH"));
        Nccl nccl = new Nccl(library);
        int version = nccl.version();
        if (version < OLDEST) {
            throw new MissingLibraryException("NCCL " + version + " is too old. Install 2.18 or newer");
        }
        return nccl;
    }

    /** The version as a number, such as 22304 for 2.23.4. */
    int version() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(JAVA_INT);
            check(call(version, found), "ncclGetVersion");
            return found.get(JAVA_INT, 0);
        }
    }

    byte[] uniqueId() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(UNIQUE_ID);
            check(call(uniqueId, id), "ncclGetUniqueId");
            return id.toArray(JAVA_BYTE);
        }
    }

    /** Begins to make a communicator. {@link #state} returns SUCCESS when the communicator is ready. */
    MemorySegment begin(byte[] id, int rank, int size) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment idMemory = arena.allocate(UNIQUE_ID);
            idMemory.copyFrom(MemorySegment.ofArray(id));
            MemorySegment place = arena.allocate(ADDRESS);
            int code = call(initialise, place, size, idMemory, rank, NcclConfig.nonBlocking(arena));
            if (code != IN_PROGRESS) {
                check(code, "ncclCommInitRankConfig");
            }
            return place.get(ADDRESS, 0);
        }
    }

    /** The state of a communicator: SUCCESS, IN_PROGRESS, or an error of an earlier call. */
    int state(MemorySegment communicator) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(JAVA_INT);
            check(call(asyncError, communicator, state), "ncclCommGetAsyncError");
            return state.get(JAVA_INT, 0);
        }
    }

    /** Ends a communicator and its operations. */
    void abort(MemorySegment communicator) {
        int _ = call(abort, communicator);
    }

    /** Runs several calls as one NCCL group. */
    void together(Runnable calls) {
        check(call(groupStart), "ncclGroupStart");
        int code = SUCCESS;
        try {
            calls.run();
        } finally {
            code = call(groupEnd); // Without the end of the group, every later call of this thread would wait.
        }
        if (code != IN_PROGRESS) {
            check(code, "ncclGroupEnd");
        }
    }

    /** Calls a function of a non-blocking communicator. */
    void launch(MethodHandle function, String what, Object... arguments) {
        int code = call(function, arguments);
        if (code != IN_PROGRESS) {
            check(code, what);
        }
    }

    static void check(int code, String what) {
        if (code != SUCCESS) {
            throw new IllegalStateException(what + " failed with NCCL error " + code + " (" + name(code)
                    + "). Set NCCL_DEBUG=INFO for the reason");
        }
    }

    private static String name(int code) {
        return switch (code) {
            case 1 -> "unhandled CUDA error";
            case 2 -> "system error";
            case 3 -> "internal error";
            case 4 -> "invalid argument";
            case 5 -> "invalid usage";
            case 6 -> "a remote process has failed";
            case 8 -> "timeout";
            default -> "unknown";
        };
    }

    private static int call(MethodHandle function, Object... arguments) {
        try {
            return (int) function.invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
