package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.ProgressThread;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * The connections of a group's collectives. A large call is divided into one slice for each connection: a slice of the
 * buffer, or of every rank's block. The slices run concurrently on separate threads. This helps on links that carry
 * more than the window of one connection, or more than one core can copy. Other calls use the first connection.
 * Confined to the group's collectives, except {@link #wake} and {@link #neighbours}.
 */
final class Stripes implements AutoCloseable {
    /** The smallest slice. For a smaller slice another thread costs more time than it saves. */
    static final long MIN_SLICE_BYTES = 1 << 20;

    private final GroupContext group;
    private final List<Stripe> stripes;
    private final Consumer<CommException> onFailure;
    private final ExecutorService threads;

    /** @param onFailure called at once when a slice fails, so that the other slices fail too */
    Stripes(GroupContext group, List<Stripe> stripes, Consumer<CommException> onFailure) {
        this.group = group;
        this.stripes = List.copyOf(stripes);
        this.onFailure = onFailure;
        String name = "rank-" + group.world().rank() + " " + group.name() + " stripe";
        this.threads = Executors.newCachedThreadPool(task -> ProgressThread.ofParts(name, task));
    }

    void run(Call call) {
        int slices = slices(call);
        if (slices == 1) {
            stripes.getFirst().run(call);
            return;
        }
        CompletableFuture<?>[] others = new CompletableFuture<?>[slices - 1];
        for (int index = 1; index < slices; index++) {
            Stripe stripe = stripes.get(index);
            Call slice = slice(call, index, slices);
            others[index - 1] = CompletableFuture.runAsync(() -> run(stripe, slice), threads);
        }
        CompletableFuture<Void> rest = CompletableFuture.allOf(others);
        try {
            run(stripes.getFirst(), slice(call, 0, slices));
        } finally {
            // The buffer is in use until all slices have ended. Each slice ends by its deadline or with the group's
            // failure.
            awaitQuietly(rest);
        }
        rethrow(rest);
    }

    /** The name of the algorithm of a call, or of its slices. */
    String algorithm(Call call) {
        int slices = slices(call);
        return stripes.getFirst()
                .algorithm(slices == 1 ? call : slice(call, 0, slices))
                .label();
    }

    void wake() {
        stripes.forEach(Stripe::wake);
    }

    /**
     * Returns the group ranks of the peers with a connection, or with a connection in the making. Callable from any
     * thread.
     */
    Set<Integer> neighbours() {
        Set<Integer> result = new TreeSet<>();
        stripes.forEach(stripe -> result.addAll(stripe.neighbours()));
        return result;
    }

    @Override
    public void close() {
        threads.shutdown();
        stripes.forEach(Stripe::close);
    }

    private int slices(Call call) {
        // If every rank divides its blocks in its own way, the ranks could not agree on the number of slices.
        boolean isCuttable = switch (call.kind()) {
            case ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL -> call.unevenIncoming() == null;
            case GATHER, SCATTER, BARRIER, ALLOCATE, ALLOCATE_SHARED, SEND, RECV -> false;
        };
        return isCuttable ? Math.clamp(call.typicalBytes(group.size()) / MIN_SLICE_BYTES, 1, stripes.size()) : 1;
    }

    private Call slice(Call call, int index, int slices) {
        int elementBytes = call.type().sizeBytes();
        if (call.kind().isInPlace()) {
            Blocks cut = Blocks.cut(call.count(), slices);
            MemorySegment memory = slice(call.input(), cut, index, elementBytes);
            return call.part(call.sequence(), call.kind(), call.op(), cut.count(index), call.root(), memory, memory);
        }
        Blocks blocks = call.blocks(group.size());
        long[] counts = new long[group.size()];
        long[] offsets = new long[group.size()];
        for (int rank = 0; rank < group.size(); rank++) {
            Blocks cut = Blocks.cut(blocks.count(rank), slices);
            counts[rank] = cut.count(index);
            offsets[rank] = blocks.offset(rank) + cut.offset(index);
        }
        Blocks own = Blocks.cut(blocks.count(group.groupRank()), slices);
        return call.part(
                call.sequence(),
                call.kind(),
                call.op(),
                call.root(),
                call.kind() == OpKind.ALL_GATHER ? slice(call.input(), own, index, elementBytes) : call.input(),
                call.kind() == OpKind.REDUCE_SCATTER ? slice(call.output(), own, index, elementBytes) : call.output(),
                Blocks.of(counts).at(offsets),
                null);
    }

    private static MemorySegment slice(MemorySegment buffer, Blocks cut, int index, int elementBytes) {
        return buffer.asSlice(cut.offset(index) * elementBytes, cut.count(index) * elementBytes);
    }

    private void run(Stripe stripe, Call slice) {
        try {
            stripe.run(slice);
        } catch (RuntimeException | Error failure) {
            onFailure.accept(slice.failure(failure));
            throw failure;
        }
    }

    private static void awaitQuietly(CompletableFuture<Void> slices) {
        try {
            slices.join();
        } catch (CompletionException _) {
            // The failure was reported through onFailure. The caller throws it.
        }
    }

    private static void rethrow(CompletableFuture<Void> slices) {
        try {
            slices.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof CommException failure) {
                throw new CommException(failure.code(), String.valueOf(failure.getMessage()), failure);
            }
            throw e;
        }
    }
}
