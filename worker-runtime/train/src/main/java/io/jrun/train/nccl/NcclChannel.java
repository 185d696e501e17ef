package io.jrun.train.nccl;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.NativeBuffers;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * An NCCL communicator with a stream of its own. The calling thread queues the operation on the stream, behind what callers have
 * queued on the default stream, and asks until it is done; when it fails, past the deadline, or when the group is poisoned, it
 * aborts the communicator, which ends the kernels. Runs one operation at a time.
 */
final class NcclChannel implements AutoCloseable {
    private static final long ASK_NANOS = 5_000;

    /** Kernels look at the abort flag all the time; generous, since copies may be queued behind them. */
    private static final Duration ABORT_GRACE = Duration.ofSeconds(1);

    private final Nccl nccl;
    private final Cuda cuda;
    private final int device;
    /** For messages: the sender, then the receiver. */
    private final GroupContext group;

    private final GroupRendezvous rendezvous;
    private @Nullable MemorySegment communicator;
    private @Nullable MemorySegment stream;
    private @Nullable MemorySegment event;

    NcclChannel(Nccl nccl, Cuda cuda, int device, GroupContext group, GroupRendezvous rendezvous) {
        this.nccl = nccl;
        this.cuda = cuda;
        this.device = device;
        this.group = group;
        this.rendezvous = rendezvous;
    }

    /** As {@code Backend.run}. */
    synchronized void run(Call call) {
        int type = NcclTypes.type(call.type());
        int op = call.kind().reduces() ? NcclTypes.op(call) : 0;
        try (NativeBuffers buffers = NativeBuffers.of(call, group.size())) {
            cuda.use(device);
            MemorySegment queue = stream();
            cuda.awaitCallers(queue, event());
            try (DeviceBuffers staged = DeviceBuffers.of(cuda, buffers, queue)) {
                communicate(call, staged, type, op, queue);
            }
            buffers.deliver();
        } catch (IllegalStateException failure) {
            group.health().check();
            throw new CommException(
                    ErrorCode.SYSTEM,
                    call.describe() + " on group " + group.name() + ": " + failure.getMessage(),
                    failure);
        }
    }

    private void communicate(Call call, DeviceBuffers staged, int type, int op, MemorySegment queue) {
        try {
            MemorySegment comm = communicator(call);
            launch(call, staged, type, op, comm, queue);
            awaitState(comm, call); // before that it may not be on the stream yet, and what follows would overtake it
            staged.bringBack();
            await(comm, queue, call);
        } catch (RuntimeException | Error failure) {
            abort();
            awaitEnd(queue);
            throw failure;
        }
    }

    private void launch(Call call, DeviceBuffers data, int type, int op, MemorySegment comm, MemorySegment queue) {
        MemorySegment in = data.input();
        MemorySegment out = data.output();
        long count = call.count();
        int root = call.root();
        String what = call.kind().methodName();
        switch (call.kind()) {
            case ALL_REDUCE -> nccl.launch(nccl.allReduce, what, in, out, count, type, op, comm, queue);
            case BROADCAST -> nccl.launch(nccl.broadcast, what, in, out, count, type, root, comm, queue);
            case REDUCE -> nccl.launch(nccl.reduce, what, in, out, count, type, op, root, comm, queue);
            case ALL_GATHER -> nccl.launch(nccl.allGather, what, in, out, count, type, comm, queue);
            case REDUCE_SCATTER -> nccl.launch(nccl.reduceScatter, what, in, out, count, type, op, comm, queue);
            case GATHER, SCATTER, ALL_TO_ALL -> nccl.together(() -> blocks(call, in, out, type, comm, queue));
            case SEND -> nccl.launch(nccl.send, what, in, count, type, 1, comm, queue);
            case RECV -> nccl.launch(nccl.receive, what, out, count, type, 0, comm, queue);
            case BARRIER -> {
                MemorySegment word = data.word();
                nccl.launch(nccl.allReduce, what, word, word, 1L, 0, 0, comm, queue);
            }
            default ->
                throw new CommException(
                        ErrorCode.USAGE,
                        call.describe() + ": the nccl backend does not have this operation. Use another backend.");
        }
    }

    /** What NCCL has no call for, or only in new versions: a message for each block. Source: NCCL's user guide. */
    private void blocks(
            Call call, MemorySegment in, MemorySegment out, int type, MemorySegment comm, MemorySegment queue) {
        boolean isRoot = group.groupRank() == call.root();
        boolean all = call.kind() == OpKind.ALL_TO_ALL;
        boolean gather = call.kind() == OpKind.GATHER;
        long block = call.bytes();
        for (int peer = 0; peer < group.size(); peer++) {
            if (all || (gather ? peer == call.root() : isRoot)) {
                MemorySegment from = gather ? in : in.asSlice(peer * block, block);
                nccl.launch(nccl.send, "ncclSend", from, call.count(), type, peer, comm, queue);
            }
            if (all || (gather ? isRoot : peer == call.root())) {
                MemorySegment to = all || gather ? out.asSlice(peer * block, block) : out;
                nccl.launch(nccl.receive, "ncclRecv", to, call.count(), type, peer, comm, queue);
            }
        }
    }

    private MemorySegment communicator(Call call) {
        MemorySegment current = communicator;
        if (current == null) {
            byte[] id = rendezvous.fromFirst(group, nccl::uniqueId, call.deadline());
            current = nccl.begin(id, group.groupRank(), group.size());
            communicator = current;
            awaitState(current, call);
        }
        return current;
    }

    private MemorySegment stream() {
        MemorySegment current = stream;
        if (current == null) {
            current = cuda.stream();
            stream = current;
        }
        return current;
    }

    private MemorySegment event() {
        MemorySegment current = event;
        if (current == null) {
            current = cuda.event();
            event = current;
        }
        return current;
    }

    /** Until the communicator has taken what it was given. */
    private void awaitState(MemorySegment comm, Call call) {
        int state = nccl.state(comm);
        while (state == Nccl.IN_PROGRESS) {
            pause(call);
            state = nccl.state(comm);
        }
        Nccl.check(state, call.kind().methodName());
    }

    private void await(MemorySegment comm, MemorySegment queue, Call call) {
        while (!cuda.isDone(queue)) {
            pause(call);
            int state = nccl.state(comm);
            if (state != Nccl.IN_PROGRESS) {
                Nccl.check(state, call.kind().methodName());
            }
        }
    }

    private void pause(Call call) {
        Deadline deadline = call.deadline();
        if (group.health().cause() == null && !deadline.passed()) {
            LockSupport.parkNanos(ASK_NANOS);
            return;
        }
        group.health().check();
        throw new CommException(
                ErrorCode.COLLECTIVE_TIMEOUT,
                call.describe() + " on group " + group.name() + " was not done within "
                        + deadline.timeout().toSeconds() + " s over NCCL, and was aborted. Compare the ranks' logs;"
                        + " NCCL_DEBUG=INFO says more.");
    }

    /** Ends what runs on the communicator, and it, without waiting for the others. */
    private void abort() {
        MemorySegment comm = communicator;
        if (comm != null) {
            communicator = null;
            nccl.abort(comm);
        }
    }

    /** A kernel that is told to stop writes to the caller's buffers until it has seen that. */
    private void awaitEnd(MemorySegment queue) {
        Deadline grace = Deadline.after(ABORT_GRACE);
        try {
            while (!cuda.isDone(queue) && !grace.passed()) {
                LockSupport.parkNanos(ASK_NANOS);
            }
        } catch (IllegalStateException _) {
            // The GPU itself has failed: nothing runs there any more.
        }
    }

    @Override
    public synchronized void close() {
        abort();
        MemorySegment queue = stream;
        if (queue != null) {
            cuda.destroyStream(queue);
            stream = null;
        }
        MemorySegment mark = event;
        if (mark != null) {
            cuda.destroyEvent(mark);
            event = null;
        }
    }
}
