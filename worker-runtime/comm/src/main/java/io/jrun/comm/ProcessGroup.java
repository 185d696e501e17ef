package io.jrun.comm;

import io.jrun.comm.Packing.Buffers;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.record.RecordedGroup;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * An ordered set of ranks that communicate. Every member calls the same collectives with the same arguments in the same
 * order; a difference fails on every rank with COLLECTIVE_MISMATCH, naming both calls.
 *
 * <p>Buffers are heap or native memory in native byte order, at least as large as stated; counts are elements. Collectives
 * run in call order, whether called or submitted with {@code ...Async}; messages have an order of their own, see
 * {@link Messages}.
 *
 * <p>Operations whose name ends in {@code V} give each rank a block of a size of its own: {@code counts} has one count for
 * each rank, and blocks lie one behind the other in rank order. Blocks may be empty.
 *
 * <p>Once an operation has failed with anything but USAGE, the group is poisoned: pending and later operations fail at once
 * with the same cause. Every operation ends within the group's timeout, or
 * that of {@link #withTimeout}.
 *
 * <p>Thread-safe; but two threads that call collectives on one group must agree about their order with the other ranks.
 */
public final class ProcessGroup implements AutoCloseable {
    private final GroupRuntime runtime;
    private final GroupOptions options;
    private final CallOptions callOptions;
    private final Requests requests;
    private final Requests.Handler<@Nullable Void> now = this::run;

    /** The group as it was opened. */
    ProcessGroup(GroupRuntime runtime, GroupOptions options) {
        this(runtime, options, CallOptions.of(options));
    }

    private ProcessGroup(GroupRuntime runtime, GroupOptions options, CallOptions callOptions) {
        this.runtime = runtime;
        this.options = options;
        this.callOptions = callOptions;
        this.requests = new Requests(runtime.context().rank(), runtime.context().size());
    }

    /** This rank's number in the group, 0 to size-1. */
    public int rank() {
        return runtime.context().rank();
    }

    /** Number of members. */
    public int size() {
        return runtime.context().size();
    }

    /** Unique name within the job's round: "world", or derived from the group it was split from. */
    public String name() {
        return runtime.context().name();
    }

    /** Timeout and determinism. */
    public GroupOptions options() {
        return options;
    }

    /** How much this group has done, and for whom this rank has waited meanwhile. Cheap; at any time. */
    public GroupStats stats() {
        RecordedGroup recorded = runtime.recorded();
        return new GroupStats(
                recorded.completedCollectives(),
                recorded.waits().total(),
                recorded.waits().lags(),
                recorded.waits().lagsByOperation());
    }

    /** The world rank of a member. */
    public int worldRank(int groupRank) {
        return runtime.context().members().get(groupRank).rank();
    }

    /**
     * A view of this group whose operations have another timeout each. A view is this group in everything else: its
     * operations are in one order with the group's, and closing it closes the group.
     *
     * @throws CommException USAGE if {@code timeout} is not positive
     */
    public ProcessGroup withTimeout(Duration timeout) {
        return view(callOptions.withTimeout(timeout));
    }

    /**
     * A view whose reductions multiply this rank's contribution by {@code factor} before they sum it, each rank by its own:
     * NCCL's PreMulSum. The results are those of multiplying first and summing then; F16 and BF16 are multiplied in binary32
     * and rounded once. For SUM of floating point types in allReduce, reduce and reduceScatter; anything else is a USAGE
     * error, also integers, which NCCL's takes. What is not replaced by the result is copied: reduceScatter takes memory for its input.
     */
    public ProcessGroup scaled(double factor) {
        return view(callOptions.withFactor(factor));
    }

    /**
     * A view whose reductions of F32 move and fold elements as BF16 or F16: half the bytes. Each rank's contribution is
     * rounded to {@code wire}, partial sums are computed in binary32 and rounded as in {@link ReduceOp}. The error of a SUM
     * over N ranks is at most {@code ((1 + u)^N (1 + 2^-24)^N - 1)} times the sum of the contributions' magnitudes, with
     * {@code u} = 2^-8 for BF16 and 2^-11 for F16; one factor {@code (1 + u)} more for AVG. F16 adds at most 2^-25 for each
     * rounding of a number below 2^-14, and what exceeds 65504 becomes infinite. Every rank chooses alike. For allReduce,
     * reduce and reduceScatter of F32, anything else is a USAGE error. Takes memory for the rounded elements.
     *
     * @param wire BF16 or F16
     */
    public ProcessGroup compressed(DataType wire) {
        return view(callOptions.withWire(wire));
    }

    /**
     * A view for small operations that must not wait for large ones: it has a queue, connections and memory of its own.
     * Its operations are ordered among themselves, and not with those of the group: all ranks call the same operations on
     * it in the same order. It fails and is closed together with the group. Memory from {@link #allocate} is registered
     * with the view that it was asked of.
     */
    public ProcessGroup urgent() {
        return new ProcessGroup(runtime.urgent(), options, callOptions);
    }

    /** Operations on many small buffers as one. */
    public Coalesced coalesced() {
        return new Coalesced(this);
    }

    /** Messages with tags, from any source, and many at once; they have this view's timeout. */
    public Messages messages() {
        return new Messages(runtime, callOptions, requests);
    }

    /** Operations on objects; they have this view's timeout. */
    public ObjectCollectives objects() {
        return new ObjectCollectives(plain());
    }

    private ProcessGroup plain() {
        return view(callOptions.withFactor(1).withWire(null));
    }

    private ProcessGroup view(CallOptions newOptions) {
        return new ProcessGroup(runtime, options, newOptions);
    }

    /** Copies the root's first {@code count} elements to every rank's buffer. */
    public void broadcast(MemorySegment buffer, DataType type, long count, int root) {
        requests.inPlace(OpKind.BROADCAST, buffer, type, count, ReduceOp.SUM, root, now);
    }

    /** Asynchronous {@link #broadcast}. */
    public Work broadcastAsync(MemorySegment buffer, DataType type, long count, int root) {
        return submit(requests.inPlace(OpKind.BROADCAST, buffer, type, count, ReduceOp.SUM, root, Request::of));
    }

    /** Replaces every rank's elements by their reduction over all ranks; the results have equal bits on all ranks. */
    public void allReduce(MemorySegment buffer, DataType type, long count, ReduceOp op) {
        requests.inPlace(OpKind.ALL_REDUCE, buffer, type, count, op, 0, now);
    }

    /** Asynchronous {@link #allReduce}. */
    public Work allReduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op) {
        return submit(requests.inPlace(OpKind.ALL_REDUCE, buffer, type, count, op, 0, Request::of));
    }

    /** Replaces the root's elements by their reduction over all ranks; the other ranks' buffers stay as they are. */
    public void reduce(MemorySegment buffer, DataType type, long count, ReduceOp op, int root) {
        requests.inPlace(OpKind.REDUCE, buffer, type, count, op, root, now);
    }

    /** Asynchronous {@link #reduce}. */
    public Work reduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op, int root) {
        return submit(requests.inPlace(OpKind.REDUCE, buffer, type, count, op, root, Request::of));
    }

    /**
     * Gives everybody every rank's {@code count} input elements, in rank order.
     *
     * @param output {@code size() * count} elements; {@code input} may be this rank's own block of it
     */
    public void allGather(MemorySegment input, MemorySegment output, DataType type, long count) {
        requests.allGather(input, output, type, count, now);
    }

    /** Asynchronous {@link #allGather}. */
    public Work allGatherAsync(MemorySegment input, MemorySegment output, DataType type, long count) {
        return submit(requests.allGather(input, output, type, count, Request::of));
    }

    /**
     * As {@link #allGather} with {@code counts[r]} elements of rank r.
     *
     * @param counts alike on all ranks
     * @param output as many elements as there are in all; {@code input} may be this rank's own block of it
     */
    public void allGatherV(MemorySegment input, MemorySegment output, DataType type, long... counts) {
        requests.allGather(input, output, type, counts, now);
    }

    /** Asynchronous {@link #allGatherV}. */
    public Work allGatherVAsync(MemorySegment input, MemorySegment output, DataType type, long... counts) {
        return submit(requests.allGather(input, output, type, counts, Request::of));
    }

    /**
     * Gives rank r the reduction over all ranks of their r-th block of {@code count} elements.
     *
     * @param input {@code size() * count} elements; {@code output} may be this rank's own block of it
     */
    public void reduceScatter(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op) {
        requests.reduceScatter(input, output, type, count, op, now);
    }

    /** Asynchronous {@link #reduceScatter}. */
    public Work reduceScatterAsync(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op) {
        return submit(requests.reduceScatter(input, output, type, count, op, Request::of));
    }

    /**
     * As {@link #reduceScatter} with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts alike on all ranks
     * @param input as many elements as there are in all; {@code output} may be this rank's own block of it
     */
    public void reduceScatterV(MemorySegment input, MemorySegment output, DataType type, ReduceOp op, long... counts) {
        requests.reduceScatter(input, output, type, counts, op, now);
    }

    /** Asynchronous {@link #reduceScatterV}. */
    public Work reduceScatterVAsync(
            MemorySegment input, MemorySegment output, DataType type, ReduceOp op, long... counts) {
        return submit(requests.reduceScatter(input, output, type, counts, op, Request::of));
    }

    /**
     * Gives the root every rank's {@code count} input elements, in rank order.
     *
     * @param output {@code size() * count} elements at the root; ignored elsewhere
     */
    public void gather(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root) {
        requests.gather(input, output, type, count, root, now);
    }

    /** Asynchronous {@link #gather}. */
    public Work gatherAsync(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root) {
        return submit(requests.gather(input, output, type, count, root, Request::of));
    }

    /**
     * As {@link #gather} with {@code counts[r]} elements of rank r.
     *
     * @param counts alike on all ranks, which tells also those that are not the root
     * @param output as many elements as there are in all at the root; ignored elsewhere
     */
    public void gatherV(MemorySegment input, @Nullable MemorySegment output, DataType type, int root, long... counts) {
        requests.gather(input, output, type, counts, root, now);
    }

    /** Asynchronous {@link #gatherV}. */
    public Work gatherVAsync(
            MemorySegment input, @Nullable MemorySegment output, DataType type, int root, long... counts) {
        return submit(requests.gather(input, output, type, counts, root, Request::of));
    }

    /**
     * Gives rank r the r-th block of {@code count} elements of the root's input.
     *
     * @param input {@code size() * count} elements at the root; ignored elsewhere
     */
    public void scatter(@Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root) {
        requests.scatter(input, output, type, count, root, now);
    }

    /** Asynchronous {@link #scatter}. */
    public Work scatterAsync(@Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root) {
        return submit(requests.scatter(input, output, type, count, root, Request::of));
    }

    /**
     * As {@link #scatter} with a block of {@code counts[r]} elements for rank r.
     *
     * @param counts alike on all ranks
     * @param input as many elements as there are in all at the root; ignored elsewhere
     */
    public void scatterV(@Nullable MemorySegment input, MemorySegment output, DataType type, int root, long... counts) {
        requests.scatter(input, output, type, counts, root, now);
    }

    /** Asynchronous {@link #scatterV}. */
    public Work scatterVAsync(
            @Nullable MemorySegment input, MemorySegment output, DataType type, int root, long... counts) {
        return submit(requests.scatter(input, output, type, counts, root, Request::of));
    }

    /** Gives rank r everybody's r-th block of {@code count} elements, in rank order; buffers must not overlap. */
    public void allToAll(MemorySegment input, MemorySegment output, DataType type, long count) {
        requests.allToAll(input, output, type, count, now);
    }

    /** Asynchronous {@link #allToAll}. */
    public Work allToAllAsync(MemorySegment input, MemorySegment output, DataType type, long count) {
        return submit(requests.allToAll(input, output, type, count, Request::of));
    }

    /**
     * As {@link #allToAll} with blocks of any sizes; buffers must not overlap.
     *
     * @param outgoing {@code outgoing[r]} elements of the input go to rank r
     * @param incoming {@code incoming[r]} elements of the output come from rank r: what that rank has as its outgoing count
     *     for this one. A difference is a COLLECTIVE_MISMATCH that names both.
     */
    public void allToAllV(MemorySegment input, long[] outgoing, MemorySegment output, long[] incoming, DataType type) {
        requests.allToAll(input, outgoing, output, incoming, type, now);
    }

    /** Asynchronous {@link #allToAllV}. */
    public Work allToAllVAsync(
            MemorySegment input, long[] outgoing, MemorySegment output, long[] incoming, DataType type) {
        return submit(requests.allToAll(input, outgoing, output, incoming, type, Request::of));
    }

    /**
     * Sends {@code count} elements to one rank, which receives with equal type and count, as a message of tag 0; see
     * {@link #messages()}. May return before it has, once that rank uses the group at all; large messages wait for the
     * receiver.
     */
    public void send(MemorySegment buffer, DataType type, long count, int destination) {
        messages().send(buffer, type, count, destination, 0);
    }

    /** Asynchronous {@link #send}. */
    public Work sendAsync(MemorySegment buffer, DataType type, long count, int destination) {
        return messages().sendAsync(buffer, type, count, destination, 0);
    }

    /** Receives the next message of tag 0 of {@code source}. */
    public void recv(MemorySegment buffer, DataType type, long count, int source) {
        messages().recv(buffer, type, count, source, 0);
    }

    /** Asynchronous {@link #recv}. */
    public Work recvAsync(MemorySegment buffer, DataType type, long count, int source) {
        return messages().recvAsync(buffer, type, count, source, 0);
    }

    /** Returns when every rank has called it. */
    public void barrier() {
        requests.empty(OpKind.BARRIER, 0, now);
    }

    /** Asynchronous {@link #barrier}. */
    public Work barrierAsync() {
        return submit(requests.empty(OpKind.BARRIER, 0, Request::of));
    }

    /**
     * Collective: memory that this group's transport moves with the fewest copies (over shared memory: none). Every rank
     * asks for the same size. It is zeroed, 64-byte aligned, and lives until the group is closed.
     */
    public MemorySegment allocate(long bytes) {
        if (bytes < 0) {
            throw new CommException(ErrorCode.USAGE, "allocate: " + bytes + " bytes (expected 0 or more)");
        }
        AtomicReference<MemorySegment> memory = new AtomicReference<>(MemorySegment.NULL);
        run(requests.empty(OpKind.ALLOCATE, bytes, Request::of), (backend, call) -> memory.set(backend.allocate(call)));
        return memory.get();
    }

    /**
     * Collective: the group of all members that passed the same {@code color}, ordered by {@code key}, then by rank. It has
     * this group's options and must be closed by itself.
     */
    public ProcessGroup split(int color, int key) {
        return split(color, key, options);
    }

    /**
     * As {@link #split(int, int)} with other options.
     *
     * @throws CommException USAGE on every member of a new group whose members give different options of those that are alike
     *     on all; this group stays usable
     */
    public ProcessGroup split(int color, int key, GroupOptions newOptions) {
        long[] all = new long[Splitting.WORDS * size()];
        long[] mine = Splitting.of(color, key, newOptions).words();
        plain().allGather(MemorySegment.ofArray(mine), MemorySegment.ofArray(all), DataType.I64, Splitting.WORDS);
        int number = runtime.nextSplit();
        record Member(int groupRank, Splitting said) {}
        List<Member> chosen = new ArrayList<>();
        for (int groupRank = 0; groupRank < size(); groupRank++) {
            Splitting said = Splitting.of(all, groupRank);
            if (said.color() == color) {
                chosen.add(new Member(groupRank, said));
            }
        }
        Member first = chosen.getFirst();
        for (Member other : chosen) {
            if (!other.said().agreed().equals(first.said().agreed())) {
                throw new CommException(
                        ErrorCode.USAGE,
                        "split: rank " + worldRank(first.groupRank()) + " gives "
                                + first.said().agreed() + ", rank " + worldRank(other.groupRank()) + " gives "
                                + other.said().agreed() + ". All members of a group must give the same.");
            }
        }
        chosen.sort(
                Comparator.comparingLong((Member member) -> member.said().key()).thenComparingInt(Member::groupRank));
        return open(number + "c" + color, chosen.stream().map(Member::groupRank).toList(), newOptions);
    }

    /** A group of members of this one, all of whom call this alike. */
    ProcessGroup open(String suffix, List<Integer> groupRanks, GroupOptions newOptions) {
        List<Peer> members =
                groupRanks.stream().map(runtime.context().members()::get).toList();
        return runtime.registry().open(name() + "." + suffix, members, newOptions);
    }

    /**
     * Poisons the group on every rank: pending and later operations fail with ABORTED and this cause.
     *
     * @throws CommException USAGE if the group is closed
     */
    public void abort(String cause) {
        runtime.abort(cause);
    }

    /**
     * Gives back what the group holds, its registered memory included. Operations that are pending have five seconds to end,
     * receives half a second; then the group is poisoned, since what closes it may be a failure that the job is to hear of: await all
     * {@link Work} before. Idempotent.
     */
    @Override
    public void close() {
        close(Deadline.after(GroupRegistry.CLOSE_GRACE));
    }

    /** As {@link #close()}, with another end of the grace. */
    void close(Deadline grace) {
        runtime.close(grace);
    }

    private @Nullable Void run(
            OpKind kind,
            DataType type,
            ReduceOp op,
            long count,
            int root,
            MemorySegment input,
            MemorySegment output,
            @Nullable Blocks uneven,
            @Nullable Blocks unevenIncoming) {
        if (callOptions.isPlain()) {
            runtime.run(kind, type, op, count, root, input, output, uneven, unevenIncoming, callOptions.timeout());
        } else {
            Request request = Request.of(kind, type, op, count, root, input, output, uneven, unevenIncoming);
            run(wireRequest(request), body(request));
        }
        return null;
    }

    private Work submit(Request request) {
        return submit(wireRequest(request), body(request));
    }

    void run(Request request, BiConsumer<Backend, Call> body) {
        runtime.run(request, callOptions.timeout(), body);
    }

    Work submit(Request request, BiConsumer<Backend, Call> body) {
        return runtime.submit(request, callOptions.timeout(), body);
    }

    /** What of a request the data plane sees. */
    Request wireRequest(Request request) {
        if (callOptions.isPlain()) {
            return request;
        }
        callOptions.check(request);
        return request.withType(callOptions.wireType(request.type()));
    }

    /** How this view's options are kept: as the data plane does it, or on a copy of the data. */
    private BiConsumer<Backend, Call> body(Request request) {
        if (callOptions.isPlain()) {
            return Backend::run;
        }
        boolean takes = request.kind() != OpKind.REDUCE || request.root() == rank();
        boolean isInPlace = request.kind() != OpKind.REDUCE_SCATTER;
        if (isInPlace && takes && callOptions.wire() == null) {
            Conversion conversion = conversion(request.type());
            return (backend, call) -> {
                conversion.scale(call.input(), call.count());
                backend.run(call);
            };
        }
        Blocks blocks = Blocks.equal(request.count(), isInPlace ? 1 : size());
        Blocks all = request.uneven() == null ? blocks : request.uneven();
        Buffers input = Buffers.of(request.input(), all.total());
        Buffers output = isInPlace ? input : Buffers.of(request.output(), all.count(rank()));
        return packing(request, input, output, takes);
    }

    /** How a request runs on a packed copy of buffers. */
    Packing packing(Request request, Buffers input, Buffers output, boolean takes) {
        boolean isInPlace = request.kind() == OpKind.ALL_REDUCE || request.kind() == OpKind.REDUCE;
        return new Packing(conversion(request.type()), input, output, isInPlace, takes, runtime.scratch());
    }

    private Conversion conversion(DataType type) {
        return new Conversion(type, callOptions.wireType(type), callOptions.factor());
    }
}
