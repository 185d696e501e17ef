package io.jrun.comm.hierarchy;

import io.jrun.comm.CommException;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.ProgressThread;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * The calls among the members of one column over TCP: parts of calls, one after another, on the caller's thread or on a
 * thread of this class. Ranks are node numbers. Confined to the group's collectives.
 */
final class InterNodeCalls implements AutoCloseable {
    /** A part that runs on the other thread. */
    @FunctionalInterface
    interface Pending {
        /** Returns when the part is done. The part has a deadline of its own. Throws the failure of the part. */
        void await();
    }

    /** A part that is done, or in which this rank has no data. */
    static final Pending NOTHING = () -> {};

    private final Backend backend;
    private final Consumer<CommException> onFailure;
    private final ExecutorService thread;
    private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

    /**
     * @param onFailure called at once when a part fails on the other thread, because the caller may be waiting for
     *     another event
     */
    InterNodeCalls(Backend backend, String name, Consumer<CommException> onFailure) {
        this.backend = backend;
        this.onFailure = onFailure;
        this.thread = Executors.newSingleThreadExecutor(task -> ProgressThread.ofParts(name, task));
    }

    /** Makes a part of {@code call} on one buffer. */
    static Call part(Call call, OpKind kind, ReduceOp op, int root, MemorySegment data) {
        long count = data.byteSize() / call.type().sizeBytes();
        return TimeoutOrder.network(call.part(call.sequence(), kind, op, count, root, data, data));
    }

    /** Makes a part of {@code call} with a block for each member. */
    static Call part(Call call, OpKind kind, ReduceOp op, MemorySegment input, MemorySegment output, Blocks blocks) {
        return TimeoutOrder.network(call.part(call.sequence(), kind, op, 0, input, output, blocks, null));
    }

    /** Compares the call with the calls of the other members. No data is sent. */
    void compareCalls(Call call) {
        MemorySegment none = MemorySegment.NULL;
        backend.run(TimeoutOrder.network(call.part(call.sequence(), OpKind.BARRIER, ReduceOp.SUM, 0, 0, none, none)));
    }

    /**
     * Runs the only part of a call on this thread, and one of several parts on the other thread, see {@link #start}.
     */
    Pending run(Call part, boolean isOneOfSeveral) {
        if (isOneOfSeveral) {
            return start(part);
        }
        run(part);
        return NOTHING;
    }

    void run(Call part) {
        backend.run(part);
    }

    /** Runs the part on the other thread after all earlier parts. */
    Pending start(Call part) {
        CompletableFuture<Void> done = CompletableFuture.runAsync(() -> runBeside(part), thread);
        last = done;
        return () -> join(done);
    }

    /** Waits until no part runs on the other thread, after success or failure. Then no part uses buffers any more. */
    void quiesce() {
        try {
            last.join();
        } catch (CompletionException _) {
            // The failure was reported to the caller that started the part.
        }
    }

    @Override
    public void close() {
        thread.shutdown();
    }

    private void runBeside(Call part) {
        try {
            backend.run(part);
        } catch (RuntimeException | Error failure) {
            onFailure.accept(part.failure(failure));
            throw failure;
        }
    }

    private static void join(CompletableFuture<Void> done) {
        try {
            done.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof CommException failure) {
                throw new CommException(failure.code(), String.valueOf(failure.getMessage()), failure);
            }
            throw e;
        }
    }
}
