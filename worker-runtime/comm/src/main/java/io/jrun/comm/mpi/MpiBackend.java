package io.jrun.comm.mpi;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.NativeBuffers;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.kernel.Kernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The data plane of a group on MPI's blocking operations. MPI chooses the algorithm. No call can cancel such an
 * operation, see {@link MpiTimeoutWatchdog}.
 */
final class MpiBackend implements Backend {
    private static final long ALIGNMENT = 64;

    /** The tags that every MPI supports have 15 bits. */
    private static final int TAGS = 0x7fff;

    private static final int TAG = 0;

    private final MpiFunctions mpi;
    private final GroupContext group;
    private final MpiTimeoutWatchdog.Post watch;
    private final Arena memory = Arena.ofShared();
    private volatile @Nullable MemorySegment communicator;

    MpiBackend(MpiFunctions mpi, GroupContext group, MpiTimeoutWatchdog.Post watch) {
        this.mpi = mpi;
        this.group = group;
        this.watch = watch;
    }

    @Override
    public void run(Call call) {
        if (call.count() > Integer.MAX_VALUE / group.size()) {
            throw new CommException(
                    ErrorCode.USAGE,
                    call.describe() + ": MPI supports at most " + Integer.MAX_VALUE / group.size()
                            + " elements in this call. Split the call, or use another backend.");
        }
        watch.begin(call);
        try (NativeBuffers buffers = NativeBuffers.of(call, group.size())) {
            int code = communicate(call, buffers, communicator());
            mpi.library.check(code, call.describe() + " on " + group.label());
            if (call.op() == ReduceOp.AVG && (call.kind() != OpKind.REDUCE || group.groupRank() == call.root())) {
                Kernels.of(call.type(), call.count()).divide(buffers.output().address(), group.size(), call.count());
            }
            buffers.deliver();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        } finally {
            watch.end(call);
        }
    }

    @Override
    public String algorithm(Call call) {
        return "mpi";
    }

    private int communicate(Call call, NativeBuffers buffers, MemorySegment comm) throws Throwable {
        MemorySegment in = buffers.input();
        MemorySegment out = buffers.output();
        MemorySegment type = mpi.types.type(call.type());
        int count = (int) call.count();
        int root = call.root();
        boolean isRoot = group.groupRank() == root;
        // Variables, because a conditional expression as an argument of invokeExact would have the type Object.
        MemorySegment gathered = isRoot ? ownOr(in, out, in) : in;
        MemorySegment scattered = isRoot ? ownOr(out, in, out) : out;
        return switch (call.kind()) {
            case BROADCAST -> (int) mpi.broadcast.invokeExact(out, count, type, root, comm);
            case ALL_REDUCE ->
                (int) mpi.allReduce.invokeExact(MpiLibrary.IN_PLACE, out, count, type, mpi.types.op(call), comm);
            case REDUCE ->
                isRoot
                        ? (int) mpi.reduce.invokeExact(
                                MpiLibrary.IN_PLACE, out, count, type, mpi.types.op(call), root, comm)
                        : (int) mpi.reduce.invokeExact(
                                in, MemorySegment.NULL, count, type, mpi.types.op(call), root, comm);
            case ALL_GATHER -> (int) mpi.allGather.invokeExact(ownOr(in, out, in), count, type, out, count, type, comm);
            case REDUCE_SCATTER -> reduceScatter(call, buffers, comm);
            case GATHER -> (int) mpi.gather.invokeExact(gathered, count, type, out, count, type, root, comm);
            case SCATTER -> (int) mpi.scatter.invokeExact(in, count, type, scattered, count, type, root, comm);
            case ALL_TO_ALL -> (int) mpi.allToAll.invokeExact(in, count, type, out, count, type, comm);
            case SEND -> (int) mpi.send.invokeExact(in, count, type, root, TAG, comm);
            case RECV -> (int) mpi.receive.invokeExact(out, count, type, root, TAG, comm, MemorySegment.NULL);
            case BARRIER -> (int) mpi.barrier.invokeExact(comm);
            default ->
                throw new CommException(
                        ErrorCode.USAGE,
                        call.describe() + ": the mpi backend does not have this operation. Use another backend.");
        };
    }

    /**
     * Runs a call through a copy if its output is inside its input. MPI forbids this, and its IN_PLACE has another
     * layout.
     */
    private int reduceScatter(Call call, NativeBuffers buffers, MemorySegment comm) throws Throwable {
        MemorySegment type = mpi.types.type(call.type());
        MemorySegment op = mpi.types.op(call);
        int count = (int) call.count();
        MemorySegment out = buffers.output();
        if (buffers.input().asOverlappingSlice(out).isEmpty()) {
            return (int) mpi.reduceScatter.invokeExact(buffers.input(), out, count, type, op, comm);
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment apart = arena.allocate(call.bytes(), ALIGNMENT);
            int code = (int) mpi.reduceScatter.invokeExact(buffers.input(), apart, count, type, op, comm);
            out.copyFrom(apart);
            return code;
        }
    }

    /** Returns MPI's IN_PLACE if {@code block} is inside {@code whole}, else {@code otherwise}. */
    private static MemorySegment ownOr(MemorySegment block, MemorySegment whole, MemorySegment otherwise) {
        return block.asOverlappingSlice(whole).isPresent() ? MpiLibrary.IN_PLACE : otherwise;
    }

    private MemorySegment communicator() {
        MemorySegment current = communicator;
        return current != null ? current : connect();
    }

    private synchronized MemorySegment connect() {
        MemorySegment current = communicator;
        if (current == null) {
            current = mpi.communicator(worldRanks(group), group.name().hashCode() & TAGS);
            communicator = current;
        }
        return current;
    }

    static int[] worldRanks(GroupContext group) {
        return group.members().stream().mapToInt(Peer::rank).toArray();
    }

    @Override
    public MemorySegment allocate(Call call) {
        return memory.allocate(call.bytes(), ALIGNMENT);
    }

    @Override
    public void healthChanged() {}

    /** Keeps the communicator until MPI ends, because freeing it is collective, and closing a group is not. */
    @Override
    public void close() {
        watch.close();
        memory.close();
    }
}
