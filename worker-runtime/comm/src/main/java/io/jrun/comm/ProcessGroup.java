package io.jrun.comm;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.record.FlightRecorder;
import io.jrun.comm.record.RecordedGroup;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * An ordered set of ranks that communicate. Every member calls the same collectives with the same arguments in the same
 * order; a difference fails on every rank with COLLECTIVE_MISMATCH, naming both calls.
 *
 * <p>Buffers are heap or native memory in native byte order, at least as large as stated; counts are elements. Collectives
 * run in call order, whether called or submitted with {@code ...Async}; the messages of one direction between two ranks
 * have an order of their own, so that {@code sendAsync} and {@code recvAsync} between the same ranks can cross.
 *
 * <p>Once an operation has failed with anything but USAGE, the group is poisoned: pending and later operations fail at once
 * with the same cause. Every operation ends within the group's timeout.
 *
 * <p>Thread-safe; but two threads that call collectives on one group must agree about their order with the other ranks.
 */
public final class ProcessGroup implements AutoCloseable {
    private static final DataType NO_TYPE = DataType.I64;

    private final GroupContext context;
    private final GroupOptions options;
    private final GroupRegistry registry;
    private final FlightRecorder recorder;
    private final RecordedGroup record;
    private final Lane collectives;
    private final ConcurrentHashMap<Integer, Lane> sends = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, Lane> receives = new ConcurrentHashMap<>();
    private final Object lifecycle = new Object();
    private volatile @Nullable Backend backend;
    private boolean closed;
    private boolean released;
    private int splits;

    ProcessGroup(GroupContext context, GroupOptions options, GroupRegistry registry) {
        this.context = context;
        this.options = options;
        this.registry = registry;
        this.recorder = registry.recorder();
        this.record = recorder.group(
                context.name(), context.members().stream().map(Peer::rank).toList());
        this.collectives = new Lane("group " + context.name());
    }

    /** This rank's number in the group, 0 to size-1. */
    public int rank() {
        return context.rank();
    }

    /** Number of members. */
    public int size() {
        return context.size();
    }

    /** Unique name within the job's round: "world", or derived from the group it was split from. */
    public String name() {
        return context.name();
    }

    /** Timeout and determinism. */
    public GroupOptions options() {
        return options;
    }

    /** The world rank of a member. */
    public int worldRank(int groupRank) {
        return context.members().get(groupRank).rank();
    }

    /** Copies the root's first {@code count} elements to every rank's buffer. */
    public void broadcast(MemorySegment buffer, DataType type, long count, int root) {
        collectives.run(inPlace(OpKind.BROADCAST, buffer, type, count, ReduceOp.SUM, root));
    }

    /** Asynchronous {@link #broadcast}. */
    public Work broadcastAsync(MemorySegment buffer, DataType type, long count, int root) {
        return collectives.submit(inPlace(OpKind.BROADCAST, buffer, type, count, ReduceOp.SUM, root));
    }

    /** Replaces every rank's elements by their reduction over all ranks; the results have equal bits on all ranks. */
    public void allReduce(MemorySegment buffer, DataType type, long count, ReduceOp op) {
        collectives.run(inPlace(OpKind.ALL_REDUCE, buffer, type, count, op, 0));
    }

    /** Asynchronous {@link #allReduce}. */
    public Work allReduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op) {
        return collectives.submit(inPlace(OpKind.ALL_REDUCE, buffer, type, count, op, 0));
    }

    /** Replaces the root's elements by their reduction over all ranks; the other ranks' buffers stay as they are. */
    public void reduce(MemorySegment buffer, DataType type, long count, ReduceOp op, int root) {
        collectives.run(inPlace(OpKind.REDUCE, buffer, type, count, op, root));
    }

    /** Asynchronous {@link #reduce}. */
    public Work reduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op, int root) {
        return collectives.submit(inPlace(OpKind.REDUCE, buffer, type, count, op, root));
    }

    /**
     * Gives everybody every rank's {@code count} input elements, in rank order.
     *
     * @param output {@code size() * count} elements; {@code input} may be this rank's own block of it
     */
    public void allGather(MemorySegment input, MemorySegment output, DataType type, long count) {
        collectives.run(allGatherTask(input, output, type, count));
    }

    /** Asynchronous {@link #allGather}. */
    public Work allGatherAsync(MemorySegment input, MemorySegment output, DataType type, long count) {
        return collectives.submit(allGatherTask(input, output, type, count));
    }

    /**
     * Gives rank r the reduction over all ranks of their r-th block of {@code count} elements.
     *
     * @param input {@code size() * count} elements; {@code output} may be this rank's own block of it
     */
    public void reduceScatter(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op) {
        collectives.run(reduceScatterTask(input, output, type, count, op));
    }

    /** Asynchronous {@link #reduceScatter}. */
    public Work reduceScatterAsync(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op) {
        return collectives.submit(reduceScatterTask(input, output, type, count, op));
    }

    /**
     * Gives the root every rank's {@code count} input elements, in rank order.
     *
     * @param output {@code size() * count} elements at the root; ignored elsewhere
     */
    public void gather(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root) {
        collectives.run(gatherTask(input, output, type, count, root));
    }

    /** Asynchronous {@link #gather}. */
    public Work gatherAsync(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root) {
        return collectives.submit(gatherTask(input, output, type, count, root));
    }

    /**
     * Gives rank r the r-th block of {@code count} elements of the root's input.
     *
     * @param input {@code size() * count} elements at the root; ignored elsewhere
     */
    public void scatter(@Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root) {
        collectives.run(scatterTask(input, output, type, count, root));
    }

    /** Asynchronous {@link #scatter}. */
    public Work scatterAsync(@Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root) {
        return collectives.submit(scatterTask(input, output, type, count, root));
    }

    /** Gives rank r everybody's r-th block of {@code count} elements, in rank order; buffers must not overlap. */
    public void allToAll(MemorySegment input, MemorySegment output, DataType type, long count) {
        collectives.run(allToAllTask(input, output, type, count));
    }

    /** Asynchronous {@link #allToAll}. */
    public Work allToAllAsync(MemorySegment input, MemorySegment output, DataType type, long count) {
        return collectives.submit(allToAllTask(input, output, type, count));
    }

    /**
     * Sends {@code count} elements to one rank, which receives with equal type and count. May return before it has, once
     * that rank uses the group at all; large messages wait for the receiver.
     */
    public void send(MemorySegment buffer, DataType type, long count, int destination) {
        Lane.Task task = message(OpKind.SEND, buffer, type, count, destination);
        messages(sends, "to", destination).run(task);
    }

    /** Asynchronous {@link #send}. */
    public Work sendAsync(MemorySegment buffer, DataType type, long count, int destination) {
        Lane.Task task = message(OpKind.SEND, buffer, type, count, destination);
        return messages(sends, "to", destination).submit(task);
    }

    /** Receives the next message of {@code source}. */
    public void recv(MemorySegment buffer, DataType type, long count, int source) {
        Lane.Task task = message(OpKind.RECV, buffer, type, count, source);
        messages(receives, "from", source).run(task);
    }

    /** Asynchronous {@link #recv}. */
    public Work recvAsync(MemorySegment buffer, DataType type, long count, int source) {
        Lane.Task task = message(OpKind.RECV, buffer, type, count, source);
        return messages(receives, "from", source).submit(task);
    }

    /** Returns when every rank has called it. */
    public void barrier() {
        collectives.run(barrierTask());
    }

    /** Asynchronous {@link #barrier}. */
    public Work barrierAsync() {
        return collectives.submit(barrierTask());
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
        collectives.run(new GroupTask(
                sequence -> call(
                        sequence,
                        OpKind.ALLOCATE,
                        NO_TYPE,
                        ReduceOp.SUM,
                        bytes,
                        0,
                        MemorySegment.NULL,
                        MemorySegment.NULL),
                (current, call) -> memory.set(current.allocate(call))));
        return memory.get();
    }

    /**
     * Collective: the group of all members that passed the same {@code color}, ordered by {@code key}, then by rank. It has
     * this group's options and must be closed by itself.
     */
    public ProcessGroup split(int color, int key) {
        return split(color, key, options);
    }

    /** As {@link #split(int, int)} with other options. */
    public ProcessGroup split(int color, int key, GroupOptions newOptions) {
        MemorySegment all = MemorySegment.ofArray(new long[2 * size()]);
        long[] mine = {color, key};
        allGather(MemorySegment.ofArray(mine), all, DataType.I64, 2);
        record Member(int groupRank, long key) {}
        List<Member> chosen = new ArrayList<>();
        for (int groupRank = 0; groupRank < size(); groupRank++) {
            if (all.getAtIndex(ValueLayout.JAVA_LONG, 2L * groupRank) == color) {
                chosen.add(new Member(groupRank, all.getAtIndex(ValueLayout.JAVA_LONG, 2L * groupRank + 1)));
            }
        }
        chosen.sort((a, b) -> a.key() != b.key() ? Long.compare(a.key(), b.key()) : a.groupRank() - b.groupRank());
        List<Peer> members = chosen.stream()
                .map(member -> context.members().get(member.groupRank()))
                .toList();
        return registry.open(name() + "." + nextSplit() + "c" + color, members, newOptions);
    }

    /**
     * Poisons the group on every rank: pending and later operations fail with ABORTED and this cause.
     *
     * @throws CommException USAGE if the group is closed
     */
    public void abort(String cause) {
        if (size() > 1 && !context.health().isImpaired()) {
            openBackend(); // The others hear of it through the data plane.
        }
        poison(new CommException(
                ErrorCode.ABORTED, "group " + name() + " was aborted by " + context.describe(rank()) + ": " + cause));
    }

    /**
     * Gives back what the group holds, its registered memory included. Operations that are pending have five seconds to end;
     * then the group is poisoned, since what closes it may be a failure that the job is to hear of: await all
     * {@link Work} before. Idempotent.
     */
    @Override
    public void close() {
        close(Deadline.after(GroupRegistry.CLOSE_GRACE));
    }

    /** As {@link #close()}, with another end of the grace. */
    void close(Deadline grace) {
        Lane.refuseWaiting("closing group " + name());
        synchronized (lifecycle) {
            if (closed) {
                return;
            }
            closed = true;
        }
        List<Lane> lanes = new ArrayList<>(List.of(collectives));
        lanes.addAll(sends.values());
        lanes.addAll(receives.values());
        lanes.forEach(Lane::close);
        if (!haveEnded(lanes, grace)) {
            poison(new CommException(
                    ErrorCode.ABORTED,
                    "group " + name() + " was closed by " + context.describe(rank())
                            + " while operations were pending that did not end within a grace of "
                            + grace.timeout().toSeconds()
                            + " s. That rank may be failing, see its log; otherwise await all Work before closing."));
            if (!haveEnded(lanes, Deadline.after(GroupRegistry.CLOSE_GRACE))) {
                throw new CommException(
                        ErrorCode.SYSTEM,
                        "group " + name() + " cannot be closed: a continuation of Work.future() has not returned.");
            }
        }
        registry.forget(this);
        release();
    }

    private static boolean haveEnded(List<Lane> lanes, Deadline deadline) {
        return lanes.stream().allMatch(lane -> lane.awaitEnd(deadline));
    }

    private void release() {
        Backend current;
        synchronized (lifecycle) {
            released = true;
            current = backend;
            backend = null;
        }
        if (current != null) {
            current.close();
        }
    }

    void poison(CommException cause) {
        context.health().poison(cause);
        healthChanged();
        registry.failed(cause);
    }

    void worldRankLeft(int worldRank, String how) {
        for (int groupRank = 0; groupRank < size(); groupRank++) {
            if (worldRank(groupRank) == worldRank) {
                context.health().left(groupRank, how);
                healthChanged();
            }
        }
    }

    private void healthChanged() {
        Backend current = backend;
        if (current != null) {
            current.healthChanged();
        }
    }

    private synchronized int nextSplit() {
        return splits++;
    }

    private Lane messages(ConcurrentHashMap<Integer, Lane> lanes, String direction, int peer) {
        Lane open = lanes.get(peer);
        if (open != null) {
            return open;
        }
        synchronized (lifecycle) {
            if (closed) {
                throw isClosed();
            }
            return lanes.computeIfAbsent(peer, _ -> new Lane("group " + name() + " " + direction + " " + peer));
        }
    }

    private CommException isClosed() {
        return Lane.closed("group " + name());
    }

    private Lane.Task inPlace(OpKind kind, MemorySegment buffer, DataType type, long count, ReduceOp op, int root) {
        Arguments.rank(kind, "root", root, size());
        Arguments.reducible(kind, type, op);
        Arguments.writable(kind, "data", buffer, Arguments.blockBytes(kind, type, count, 1));
        return task(kind, type, op, count, root, buffer, buffer);
    }

    private Lane.Task message(OpKind kind, MemorySegment buffer, DataType type, long count, int peer) {
        Arguments.rank(kind, kind == OpKind.SEND ? "destination" : "source", peer, size());
        if (peer == rank()) {
            throw new CommException(
                    ErrorCode.USAGE, kind.methodName() + ": rank " + peer + " is the caller itself. Copy the buffer.");
        }
        long bytes = Arguments.blockBytes(kind, type, count, 1);
        if (kind == OpKind.SEND) {
            Arguments.readable(kind, "data", buffer, bytes);
        } else {
            Arguments.writable(kind, "data", buffer, bytes);
        }
        return task(kind, type, ReduceOp.SUM, count, peer, buffer, buffer);
    }

    private Lane.Task allGatherTask(MemorySegment input, MemorySegment output, DataType type, long count) {
        OpKind kind = OpKind.ALL_GATHER;
        long block = Arguments.blockBytes(kind, type, count, 1);
        long whole = Arguments.blockBytes(kind, type, count, size());
        Arguments.readable(kind, "input", input, block);
        Arguments.writable(kind, "output", output, whole);
        Arguments.apartOrInPlace(kind, output, whole, input, block, rank() * block);
        return task(kind, type, ReduceOp.SUM, count, 0, input, output);
    }

    private Lane.Task reduceScatterTask(
            MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op) {
        OpKind kind = OpKind.REDUCE_SCATTER;
        Arguments.reducible(kind, type, op);
        long block = Arguments.blockBytes(kind, type, count, 1);
        long whole = Arguments.blockBytes(kind, type, count, size());
        Arguments.readable(kind, "input", input, whole);
        Arguments.writable(kind, "output", output, block);
        Arguments.apartOrInPlace(kind, input, whole, output, block, rank() * block);
        return task(kind, type, op, count, 0, input, output);
    }

    private Lane.Task gatherTask(
            MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root) {
        OpKind kind = OpKind.GATHER;
        Arguments.rank(kind, "root", root, size());
        long block = Arguments.blockBytes(kind, type, count, 1);
        long whole = Arguments.blockBytes(kind, type, count, size());
        Arguments.readable(kind, "input", input, block);
        MemorySegment target = MemorySegment.NULL;
        if (rank() == root) {
            target = output == null ? MemorySegment.NULL : output;
            Arguments.writable(kind, "output", target, whole);
            Arguments.apartOrInPlace(kind, target, whole, input, block, rank() * block);
        }
        return task(kind, type, ReduceOp.SUM, count, root, input, target);
    }

    private Lane.Task scatterTask(
            @Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root) {
        OpKind kind = OpKind.SCATTER;
        Arguments.rank(kind, "root", root, size());
        long block = Arguments.blockBytes(kind, type, count, 1);
        long whole = Arguments.blockBytes(kind, type, count, size());
        Arguments.writable(kind, "output", output, block);
        MemorySegment source = MemorySegment.NULL;
        if (rank() == root) {
            source = input == null ? MemorySegment.NULL : input;
            Arguments.readable(kind, "input", source, whole);
            Arguments.apartOrInPlace(kind, source, whole, output, block, rank() * block);
        }
        return task(kind, type, ReduceOp.SUM, count, root, source, output);
    }

    private Lane.Task allToAllTask(MemorySegment input, MemorySegment output, DataType type, long count) {
        OpKind kind = OpKind.ALL_TO_ALL;
        long whole = Arguments.blockBytes(kind, type, count, size());
        Arguments.readable(kind, "input", input, whole);
        Arguments.writable(kind, "output", output, whole);
        Arguments.apart(kind, input, whole, output, whole);
        return task(kind, type, ReduceOp.SUM, count, 0, input, output);
    }

    private Lane.Task barrierTask() {
        return task(OpKind.BARRIER, NO_TYPE, ReduceOp.SUM, 0, 0, MemorySegment.NULL, MemorySegment.NULL);
    }

    private Lane.Task task(
            OpKind kind, DataType type, ReduceOp op, long count, int root, MemorySegment input, MemorySegment output) {
        return new GroupTask(sequence -> call(sequence, kind, type, op, count, root, input, output), Backend::run);
    }

    private Call call(
            long sequence,
            OpKind kind,
            DataType type,
            ReduceOp op,
            long count,
            int root,
            MemorySegment input,
            MemorySegment output) {
        return new Call(sequence, kind, type, op, count, root, input, output, Deadline.after(options.timeout()));
    }

    /** An operation on its way through a lane, and into the flight recorder. */
    private final class GroupTask implements Lane.Task {
        private final LongFunction<Call> numbered;
        private final BiConsumer<Backend, Call> body;
        private long ticket = FlightRecorder.NO_TICKET;

        GroupTask(LongFunction<Call> numbered, BiConsumer<Backend, Call> body) {
            this.numbered = numbered;
            this.body = body;
        }

        @Override
        public void queued(long sequence) {
            ticket = recorder.queued(record, numbered.apply(sequence));
        }

        /** Whatever goes wrong in the data plane leaves the ranks in different places: the group can be used no more. */
        @Override
        public void run(long sequence) {
            context.health().check();
            Call call = numbered.apply(sequence);
            ticket = recorder.started(record, ticket, call);
            try {
                Backend current = backend;
                body.accept(current != null ? current : openBackend(), call);
                recorder.ended(record, ticket, call, true);
            } catch (CommException failure) {
                throw failed(call, failure);
            } catch (RuntimeException | Error failure) {
                throw failed(
                        call,
                        new CommException(
                                ErrorCode.SYSTEM, call.describe() + " failed in itself: " + failure, failure));
            }
        }

        private CommException failed(Call call, CommException failure) {
            recorder.ended(record, ticket, call, false);
            poison(failure);
            return failure;
        }
    }

    private Backend openBackend() {
        synchronized (lifecycle) {
            if (released) {
                throw isClosed();
            }
            Backend current = backend;
            if (current == null) {
                current = registry.factory(size(), options.backend()).create(context);
                backend = current;
                current.healthChanged();
            }
            return current;
        }
    }
}
