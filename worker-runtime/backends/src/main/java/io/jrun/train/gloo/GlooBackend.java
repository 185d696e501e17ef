package io.jrun.train.gloo;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.NativeBuffers;
import io.jrun.comm.backend.OpKind;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.AllToAllOptions;
import org.bytedeco.pytorch.AllgatherOptions;
import org.bytedeco.pytorch.AllreduceOptions;
import org.bytedeco.pytorch.BarrierOptions;
import org.bytedeco.pytorch.BroadcastOptions;
import org.bytedeco.pytorch.GatherOptions;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.ReduceOptions;
import org.bytedeco.pytorch.ReduceScatterOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScatterOptions;
import org.bytedeco.pytorch.StringViewOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.jspecify.annotations.Nullable;

/**
 * A group on a ProcessGroupGloo. Gloo reads and writes native memory in place, and reduces f16 and bf16 in their own
 * precision. After the group is poisoned, a pending operation of Gloo holds its buffers until the timeout of the
 * operation.
 */
final class GlooBackend implements Backend {
    /** Time between two checks whether the group of a waiting operation is poisoned. */
    private static final Duration TURN = Duration.ofSeconds(1);

    private static final long ALIGNMENT = 64;
    private static final int TAG = 0;

    private final GroupContext context;
    private final GroupRendezvous rendezvous;
    private final Arena memory = Arena.ofShared();
    private volatile @Nullable GlooRendezvous meeting;

    GlooBackend(GroupContext context, GroupRendezvous rendezvous) {
        this.context = context;
        this.rendezvous = rendezvous;
    }

    @Override
    public void run(Call call) {
        try (PointerScope _ = new PointerScope()) {
            ProcessGroupGloo connected = connected(call);
            NativeBuffers buffers = NativeBuffers.of(call, context.size());
            await(begin(call, connected, buffers), call);
            finish(call, buffers);
            buffers.deliver();
            // After a failure the buffers stay: a pending operation of Gloo uses the buffers until its timeout.
            buffers.close();
        } catch (CommException e) {
            throw e;
        } catch (RuntimeException e) {
            throw failed(call, e);
        }
    }

    private Work begin(Call call, ProcessGroupGloo gloo, NativeBuffers buffers) {
        long count = call.count();
        long all = count * context.size();
        MemorySegment in = buffers.input();
        MemorySegment out = buffers.output();
        Milliseconds timeout = left(call);
        boolean isRoot = context.groupRank() == call.root();
        return switch (call.kind()) {
            case BROADCAST -> {
                BroadcastOptions options = new BroadcastOptions();
                options.rootRank(call.root());
                options.timeout(timeout);
                yield gloo.broadcast(new TensorVector(tensor(call, out, count)), options);
            }
            case ALL_REDUCE -> {
                AllreduceOptions options = new AllreduceOptions();
                options.reduceOp(GlooTypes.reduceOp(call));
                options.timeout(timeout);
                yield gloo.allreduce(new TensorVector(tensor(call, out, count)), options);
            }
            case REDUCE -> {
                ReduceOptions options = new ReduceOptions();
                options.reduceOp(GlooTypes.reduceOp(call));
                options.rootRank(call.root());
                options.timeout(timeout);
                Tensor data = tensor(call, out, count);
                // Gloo leaves partial sums in every rank's buffer.
                yield gloo.reduce(new TensorVector(isRoot ? data : data.clone()), options);
            }
            case ALL_GATHER -> {
                AllgatherOptions options = new AllgatherOptions();
                options.timeout(timeout);
                yield gloo._allgather_base(tensor(call, out, all), tensor(call, in, count), options);
            }
            case REDUCE_SCATTER -> {
                ReduceScatterOptions options = new ReduceScatterOptions();
                options.reduceOp(GlooTypes.reduceOp(call));
                options.timeout(timeout);
                yield gloo._reduce_scatter_base(tensor(call, out, count), tensor(call, in, all), options);
            }
            case GATHER -> {
                GatherOptions options = new GatherOptions();
                options.rootRank(call.root());
                options.timeout(timeout);
                TensorVector mine = new TensorVector(tensor(call, in, count));
                yield gloo.gather(isRoot ? blocks(call, out) : none(), mine, options);
            }
            case SCATTER -> {
                ScatterOptions options = new ScatterOptions();
                options.rootRank(call.root());
                options.timeout(timeout);
                TensorVector mine = new TensorVector(tensor(call, out, count));
                yield gloo.scatter(mine, isRoot ? blocks(call, in) : none(), options);
            }
            case ALL_TO_ALL -> {
                AllToAllOptions options = new AllToAllOptions();
                options.timeout(timeout);
                yield gloo.alltoall_base(
                        tensor(call, out, all), tensor(call, in, all), new LongVector(), new LongVector(), options);
            }
            case SEND -> gloo.send(new TensorVector(tensor(call, in, count)), call.root(), TAG);
            case RECV -> gloo.recv(new TensorVector(tensor(call, out, count)), call.root(), TAG);
            case BARRIER -> barrier(gloo, timeout);
            default ->
                throw new CommException(
                        ErrorCode.USAGE,
                        call.describe() + ": the gloo backend does not have this operation. Use another backend.");
        };
    }

    private static Milliseconds left(Call call) {
        return new Milliseconds(Math.max(1, call.deadline().remainingNanos() / 1_000_000));
    }

    private static Work barrier(ProcessGroupGloo gloo, Milliseconds timeout) {
        BarrierOptions options = new BarrierOptions();
        options.timeout(timeout);
        return gloo.barrier(options);
    }

    private void finish(Call call, NativeBuffers buffers) {
        boolean hasResult = call.kind() != OpKind.REDUCE || context.groupRank() == call.root();
        if (call.op() != ReduceOp.AVG || !hasResult) {
            return;
        }
        Tensor sum = tensor(call, buffers.output(), call.count());
        if (call.type().isFloat()) {
            sum.div_(new Scalar(context.size()));
        } else {
            sum.div_(new Scalar(context.size()), new StringViewOptional(new BytePointer("trunc")));
        }
    }

    private void await(Work work, Call call) {
        Milliseconds turn = new Milliseconds(TURN.toMillis());
        while (true) {
            try {
                work._wait(turn);
                return;
            } catch (RuntimeException failure) {
                if (work.isCompleted()) {
                    throw failure;
                }
                context.health().check();
                if (call.deadline().passed()) {
                    throw new CommException(
                            ErrorCode.COLLECTIVE_TIMEOUT,
                            call.describe() + " on " + context.label() + " was not done within "
                                    + call.deadline().timeout().toSeconds()
                                    + " s over Gloo. Gloo does not name the missing rank. Compare the ranks' logs,"
                                    + " or run with --backend jrun.",
                            failure);
                }
            }
        }
    }

    private CommException failed(Call call, RuntimeException failure) {
        context.health().check();
        String said = String.valueOf(failure.getMessage()).lines().findFirst().orElse("");
        boolean lost = said.contains("closed by peer") || said.contains("reset by peer");
        return new CommException(
                lost ? ErrorCode.PEER_LOST : ErrorCode.SYSTEM,
                call.describe() + " on " + context.label() + " failed in Gloo: " + said,
                failure);
    }

    private Tensor tensor(Call call, MemorySegment memory, long count) {
        return TensorMemory.tensor(memory, GlooTypes.scalar(call.type()), count);
    }

    private TensorVector blocks(Call call, MemorySegment whole) {
        Tensor[] blocks = new Tensor[context.size()];
        for (int r = 0; r < blocks.length; r++) {
            blocks[r] = tensor(call, whole.asSlice(r * call.bytes(), call.bytes()), call.count());
        }
        return new TensorVector(blocks);
    }

    /** An empty list of lists: null would end the process. */
    private static TensorVector none() {
        return (TensorVector) new TensorVector().limit(0);
    }

    private ProcessGroupGloo connected(Call call) {
        GlooRendezvous current = meeting;
        return current != null ? current.group() : connect(call);
    }

    private synchronized ProcessGroupGloo connect(Call call) {
        GlooRendezvous current = meeting;
        if (current == null) {
            current = GlooRendezvous.open(
                    context.groupRank(),
                    context.addresses(),
                    mine -> rendezvous.fromFirst(context, () -> mine, call.deadline()),
                    call.deadline().timeout());
            await(barrier(current.group(), left(call)), call); // After the barrier no rank needs the store of rank 0.
            meeting = current;
        }
        return current.group();
    }

    @Override
    public String algorithm(Call call) {
        return "gloo";
    }

    @Override
    public MemorySegment allocate(Call call) {
        return memory.allocate(call.bytes(), ALIGNMENT);
    }

    @Override
    public void healthChanged() {}

    /**
     * In a failed group an operation of Gloo may run until its timeout. The operation and its memory then end with the
     * process.
     */
    @Override
    public synchronized void close() {
        GlooRendezvous current = meeting;
        meeting = null;
        if (context.health().cause() == null) {
            if (current != null) {
                current.close();
            }
            memory.close();
        }
    }
}
