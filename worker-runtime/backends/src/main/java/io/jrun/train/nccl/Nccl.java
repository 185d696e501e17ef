package io.jrun.train.nccl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.jrun.comm.cuda.CudaLibraries;
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
    private static final int INVALID_USAGE = 5;
    static final int ID_BYTES = 128;

    /** ncclUniqueId, which is passed by value. */
    static final StructLayout UNIQUE_ID = MemoryLayout.structLayout(
            MemoryLayout.sequenceLayout(ID_BYTES, JAVA_BYTE).withName("internal"));

    /** The first version with non-blocking communicators and the configuration of ncclCommSplit. */
    private static final int OLDEST = 21800;

    private static final String FILE = "libnccl.so.2";

    private final MethodHandle allReduce;
    private final MethodHandle broadcast;
    private final MethodHandle reduce;
    private final MethodHandle allGather;
    private final MethodHandle reduceScatter;
    private final MethodHandle send;
    private final MethodHandle receive;
    private final MethodHandle version;
    private final MethodHandle uniqueId;
    private final MethodHandle initialise;
    private final MethodHandle asyncError;
    private final MethodHandle finalizer;
    private final MethodHandle destroy;
    private final MethodHandle abort;
    private final MethodHandle groupStart;
    private final MethodHandle groupEnd;

    private Nccl(NativeLibrary library) {
        version = library.function("ncclGetVersion", ADDRESS);
        uniqueId = library.function("ncclGetUniqueId", ADDRESS);
        initialise = library.function("ncclCommInitRankConfig", ADDRESS, JAVA_INT, UNIQUE_ID, JAVA_INT, ADDRESS);
        asyncError = library.function("ncclCommGetAsyncError", ADDRESS, ADDRESS);
        finalizer = library.function("ncclCommFinalize", ADDRESS);
        destroy = library.function("ncclCommDestroy", ADDRESS);
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
                        + " is missing. 'jrun cuda install --with-libraries' brings it, or "
                        + CudaLibraries.PATH_VARIABLE + " names its folder"));
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
            check((int) version.invokeExact(found), "ncclGetVersion");
            return found.get(JAVA_INT, 0);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    byte[] uniqueId() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(UNIQUE_ID);
            check((int) uniqueId.invokeExact(id), "ncclGetUniqueId");
            return id.toArray(JAVA_BYTE);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Begins to make a communicator. {@link #state} returns SUCCESS when the communicator is ready. */
    MemorySegment begin(byte[] id, int rank, int size) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment idMemory = arena.allocate(UNIQUE_ID);
            idMemory.copyFrom(MemorySegment.ofArray(id));
            MemorySegment place = arena.allocate(ADDRESS);
            MemorySegment config = NcclConfig.nonBlocking(arena);
            checkLaunch((int) initialise.invokeExact(place, size, idMemory, rank, config), "ncclCommInitRankConfig");
            return place.get(ADDRESS, 0);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** The state of a communicator: SUCCESS, IN_PROGRESS, or an error of an earlier call. */
    int state(MemorySegment communicator) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(JAVA_INT);
            check((int) asyncError.invokeExact(communicator, state), "ncclCommGetAsyncError");
            return state.get(JAVA_INT, 0);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /**
     * Begins to end a communicator whose operations have ended on all ranks. {@link #state} returns SUCCESS when
     * {@link #destroy} may follow.
     */
    void beginFinalize(MemorySegment communicator) {
        try {
            checkLaunch((int) finalizer.invokeExact(communicator), "ncclCommFinalize");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Releases a communicator that is finalized. */
    void destroy(MemorySegment communicator) {
        try {
            int _ = (int) destroy.invokeExact(communicator);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Ends a communicator and its operations. The data of these operations may be lost on all ranks. */
    void abort(MemorySegment communicator) {
        try {
            int _ = (int) abort.invokeExact(communicator);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Runs several calls as one NCCL group. */
    void together(Runnable calls) {
        int code = SUCCESS;
        try {
            check((int) groupStart.invokeExact(), "ncclGroupStart");
            try {
                calls.run();
            } finally {
                code = (int) groupEnd.invokeExact(); // Without the end, every later call of this thread would wait.
            }
            checkLaunch(code, "ncclGroupEnd");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /*
     * The operations of a non-blocking communicator: each method returns when the communicator has taken the call, and
     * the operation is on the stream when the state is SUCCESS. The parameters have the order of nccl.h.
     */

    void allReduce(
            MemorySegment in,
            MemorySegment out,
            long count,
            int type,
            int op,
            MemorySegment communicator,
            MemorySegment stream) {
        try {
            int code = (int) allReduce.invokeExact(in, out, count, type, op, communicator, stream);
            checkLaunch(code, "ncclAllReduce");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    void broadcast(
            MemorySegment in,
            MemorySegment out,
            long count,
            int type,
            int root,
            MemorySegment communicator,
            MemorySegment stream) {
        try {
            int code = (int) broadcast.invokeExact(in, out, count, type, root, communicator, stream);
            checkLaunch(code, "ncclBroadcast");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    void reduce(
            MemorySegment in,
            MemorySegment out,
            long count,
            int type,
            int op,
            int root,
            MemorySegment communicator,
            MemorySegment stream) {
        try {
            int code = (int) reduce.invokeExact(in, out, count, type, op, root, communicator, stream);
            checkLaunch(code, "ncclReduce");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    void allGather(
            MemorySegment in,
            MemorySegment out,
            long count,
            int type,
            MemorySegment communicator,
            MemorySegment stream) {
        try {
            int code = (int) allGather.invokeExact(in, out, count, type, communicator, stream);
            checkLaunch(code, "ncclAllGather");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    void reduceScatter(
            MemorySegment in,
            MemorySegment out,
            long count,
            int type,
            int op,
            MemorySegment communicator,
            MemorySegment stream) {
        try {
            int code = (int) reduceScatter.invokeExact(in, out, count, type, op, communicator, stream);
            checkLaunch(code, "ncclReduceScatter");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    void send(MemorySegment in, long count, int type, int peer, MemorySegment communicator, MemorySegment stream) {
        try {
            checkLaunch((int) send.invokeExact(in, count, type, peer, communicator, stream), "ncclSend");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    void receive(MemorySegment out, long count, int type, int peer, MemorySegment communicator, MemorySegment stream) {
        try {
            checkLaunch((int) receive.invokeExact(out, count, type, peer, communicator, stream), "ncclRecv");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    private static void checkLaunch(int code, String what) {
        if (code != IN_PROGRESS) {
            check(code, what);
        }
    }

    static void check(int code, String what) {
        if (code != SUCCESS) {
            throw new IllegalStateException(
                    what + " failed with NCCL error " + code + " (" + name(code) + "). " + remedy(code));
        }
    }

    private static String remedy(int code) {
        return code == INVALID_USAGE
                ? "NCCL refuses, among others, a group with two ranks on one GPU. Start one worker for each GPU"
                        + " (--nproc-per-node=gpu), give each rank a variable NCCL_HOSTID of its own, or use jrun's own"
                        + " data plane (--backend=jrun). Set NCCL_DEBUG=WARN for NCCL's reason"
                : "Set NCCL_DEBUG=INFO for the reason";
    }

    private static String name(int code) {
        return switch (code) {
            case 1 -> "unhandled CUDA error";
            case 2 -> "system error";
            case 3 -> "internal error";
            case 4 -> "invalid argument";
            case INVALID_USAGE -> "invalid usage";
            case 6 -> "a remote process has failed";
            case 8 -> "timeout";
            default -> "unknown";
        };
    }
}
