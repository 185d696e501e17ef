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
 * What the members of one column do together, over TCP: parts of calls, one after another, on the caller's thread or beside
 * it. Ranks are node numbers. Confined to the group's collectives.
 */
final class InterNodeCalls implements AutoCloseable {
    /** A part that runs beside the caller. */
    @FunctionalInterface
    interface Pending {
        /** Returns when the part is done; it has a deadline of its own. Throws what the part threw. */
        void await();
    }

    /** Of a part that is done, or in which this rank has nothing to do. */
    static final Pending NOTHING = () -> {};

    private final Backend backend;
    private final Consumer<CommException> onFailure;
    private final ExecutorService thread;
    private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

    /** @param onFailure told at once when a part fails beside the caller, who may be waiting for something else */
    InterNodeCalls(Backend backend, String name, Consumer<CommException> onFailure) {
        this.backend = backend;
        this.onFailure = onFailure;
        this.thread = Executors.newSingleThreadExecutor(task -> ProgressThread.ofParts(name, task));
    }

    /** A part of {@code call} on one buffer. */
    static Call part(Call call, OpKind kind, ReduceOp op, int root, MemorySegment data) {
        long count = data.byteSize() / call.type().sizeBytes();
        return TimeoutOrder.network(call.part(call.sequence(), kind, op, count, root, data, data));
    }

    /** A part of {@code call} in which each member has a block. */
    static Call part(Call call, OpKind kind, ReduceOp op, MemorySegment input, MemorySegment output, Blocks blocks) {
        return TimeoutOrder.network(call.part(call.sequence(), kind, op, 0, input, output, blocks, null));
    }

    /** The call's own fingerprint and nothing else goes round. */
    void agree(Call call) {
        MemorySegment none = MemorySegment.NULL;
        backend.run(TimeoutOrder.network(call.part(call.sequence(), OpKind.BARRIER, ReduceOp.SUM, 0, 0, none, none)));
    }

    /** Runs the only part of a call at once; one of several beside the caller, see {@link #start}. */
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

    /** Runs after everything started before, while the caller does something else. */
    Pending start(Call part) {
        CompletableFuture<Void> done = CompletableFuture.runAsync(() -> runBeside(part), thread);
        last = done;
        return () -> join(done);
    }

    /** Waits until nothing runs beside the caller any more, whatever became of it: then nothing touches buffers. */
    void quiesce() {
        try {
            last.join();
        } catch (CompletionException _) {
            // Whoever started it has been told.
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
