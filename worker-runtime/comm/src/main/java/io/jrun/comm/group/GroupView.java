package io.jrun.comm.group;

import io.jrun.comm.CoalescedOperations;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.GroupStats;
import io.jrun.comm.Messages;
import io.jrun.comm.ObjectCollectives;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.flight.RecordedGroup;
import io.jrun.comm.object.EncodedCollectives;
import io.jrun.comm.operation.ArgumentChecks;
import io.jrun.comm.operation.CallOptions;
import io.jrun.comm.operation.Conversion;
import io.jrun.comm.operation.OperationRequests;
import io.jrun.comm.operation.Packing;
import io.jrun.comm.operation.Packing.Buffers;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A process group: the runtime of the group with the options of one view. Thread-safe. */
final class GroupView implements ProcessGroup {
    private final GroupRuntime runtime;
    private final GroupOptions options;
    private final CallOptions callOptions;
    private final OperationRequests requests;
    private final OperationRequests.Handler<@Nullable Void> now = this::run;

    /** Makes the view of a new group. */
    GroupView(GroupRuntime runtime, GroupOptions options) {
        this(runtime, options, CallOptions.of(options));
    }

    private GroupView(GroupRuntime runtime, GroupOptions options, CallOptions callOptions) {
        this.runtime = runtime;
        this.options = options;
        this.callOptions = callOptions;
        this.requests = new OperationRequests(
                runtime.context().groupRank(), runtime.context().size());
    }

    @Override
    public int groupRank() {
        return runtime.context().groupRank();
    }

    @Override
    public int size() {
        return runtime.context().size();
    }

    @Override
    public String name() {
        return runtime.context().name();
    }

    @Override
    public Optional<String> unsupportedReason(Device device) {
        if (device.isCpu()) {
            return Optional.empty();
        }
        return runtime.unsupportedReason(device);
    }

    @Override
    public GroupOptions options() {
        return options;
    }

    @Override
    public GroupStats stats() {
        RecordedGroup recorded = runtime.recorded();
        return new GroupStats(
                recorded.completedCollectives(),
                recorded.waits().total(),
                recorded.waits().lags(),
                recorded.waits().lagsByOperation());
    }

    @Override
    public int worldRank(int groupRank) {
        return runtime.context().members().get(groupRank).rank();
    }

    @Override
    public Optional<String> departure(int groupRank) {
        return Optional.ofNullable(runtime.health().departure(groupRank));
    }

    @Override
    public ProcessGroup withTimeout(Duration timeout) {
        return view(callOptions.withTimeout(timeout));
    }

    @Override
    public ProcessGroup scaled(double factor) {
        return view(callOptions.withFactor(factor));
    }

    @Override
    public ProcessGroup compressed(DataType wire) {
        return view(callOptions.withWire(wire));
    }

    @Override
    public ProcessGroup urgent() {
        return new GroupView(runtime.urgent(), options, callOptions);
    }

    @Override
    public CoalescedOperations coalesced() {
        return new CoalescedView(this);
    }

    @Override
    public Messages messages() {
        return new GroupMessages(runtime, callOptions, requests);
    }

    @Override
    public ObjectCollectives objects() {
        return new EncodedCollectives(plain());
    }

    private GroupView plain() {
        return view(CallOptions.of(options).withTimeout(callOptions.timeout()));
    }

    private GroupView view(CallOptions newOptions) {
        return new GroupView(runtime, options, newOptions);
    }

    @Override
    public void broadcast(MemorySegment buffer, DataType type, long count, int root) {
        requests.inPlace(OpKind.BROADCAST, buffer, type, count, ReduceOp.SUM, root, now);
    }

    @Override
    public Work broadcastAsync(MemorySegment buffer, DataType type, long count, int root) {
        return submit(requests.inPlace(OpKind.BROADCAST, buffer, type, count, ReduceOp.SUM, root, Call::requested));
    }

    @Override
    public void allReduce(MemorySegment buffer, DataType type, long count, ReduceOp op) {
        requests.inPlace(OpKind.ALL_REDUCE, buffer, type, count, op, 0, now);
    }

    @Override
    public Work allReduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op) {
        return submit(requests.inPlace(OpKind.ALL_REDUCE, buffer, type, count, op, 0, Call::requested));
    }

    @Override
    public void reduce(MemorySegment buffer, DataType type, long count, ReduceOp op, int root) {
        requests.inPlace(OpKind.REDUCE, buffer, type, count, op, root, now);
    }

    @Override
    public Work reduceAsync(MemorySegment buffer, DataType type, long count, ReduceOp op, int root) {
        return submit(requests.inPlace(OpKind.REDUCE, buffer, type, count, op, root, Call::requested));
    }

    @Override
    public void allGather(MemorySegment input, MemorySegment output, DataType type, long count) {
        requests.allGather(input, output, type, count, now);
    }

    @Override
    public Work allGatherAsync(MemorySegment input, MemorySegment output, DataType type, long count) {
        return submit(requests.allGather(input, output, type, count, Call::requested));
    }

    @Override
    public void allGatherV(MemorySegment input, MemorySegment output, DataType type, long... counts) {
        requests.allGather(input, output, type, counts, now);
    }

    @Override
    public Work allGatherVAsync(MemorySegment input, MemorySegment output, DataType type, long... counts) {
        return submit(requests.allGather(input, output, type, counts, Call::requested));
    }

    @Override
    public void reduceScatter(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op) {
        requests.reduceScatter(input, output, type, count, op, now);
    }

    @Override
    public Work reduceScatterAsync(MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op) {
        return submit(requests.reduceScatter(input, output, type, count, op, Call::requested));
    }

    @Override
    public void reduceScatterV(MemorySegment input, MemorySegment output, DataType type, ReduceOp op, long... counts) {
        requests.reduceScatter(input, output, type, counts, op, now);
    }

    @Override
    public Work reduceScatterVAsync(
            MemorySegment input, MemorySegment output, DataType type, ReduceOp op, long... counts) {
        return submit(requests.reduceScatter(input, output, type, counts, op, Call::requested));
    }

    @Override
    public void gather(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root) {
        requests.gather(input, output, type, count, root, now);
    }

    @Override
    public Work gatherAsync(MemorySegment input, @Nullable MemorySegment output, DataType type, long count, int root) {
        return submit(requests.gather(input, output, type, count, root, Call::requested));
    }

    @Override
    public void gatherV(MemorySegment input, @Nullable MemorySegment output, DataType type, int root, long... counts) {
        requests.gather(input, output, type, counts, root, now);
    }

    @Override
    public Work gatherVAsync(
            MemorySegment input, @Nullable MemorySegment output, DataType type, int root, long... counts) {
        return submit(requests.gather(input, output, type, counts, root, Call::requested));
    }

    @Override
    public void scatter(@Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root) {
        requests.scatter(input, output, type, count, root, now);
    }

    @Override
    public Work scatterAsync(@Nullable MemorySegment input, MemorySegment output, DataType type, long count, int root) {
        return submit(requests.scatter(input, output, type, count, root, Call::requested));
    }

    @Override
    public void scatterV(@Nullable MemorySegment input, MemorySegment output, DataType type, int root, long... counts) {
        requests.scatter(input, output, type, counts, root, now);
    }

    @Override
    public Work scatterVAsync(
            @Nullable MemorySegment input, MemorySegment output, DataType type, int root, long... counts) {
        return submit(requests.scatter(input, output, type, counts, root, Call::requested));
    }

    @Override
    public void allToAll(MemorySegment input, MemorySegment output, DataType type, long count) {
        requests.allToAll(input, output, type, count, now);
    }

    @Override
    public Work allToAllAsync(MemorySegment input, MemorySegment output, DataType type, long count) {
        return submit(requests.allToAll(input, output, type, count, Call::requested));
    }

    @Override
    public void allToAllV(MemorySegment input, long[] outgoing, MemorySegment output, long[] incoming, DataType type) {
        requests.allToAll(input, outgoing, output, incoming, type, now);
    }

    @Override
    public Work allToAllVAsync(
            MemorySegment input, long[] outgoing, MemorySegment output, long[] incoming, DataType type) {
        return submit(requests.allToAll(input, outgoing, output, incoming, type, Call::requested));
    }

    @Override
    public void send(MemorySegment buffer, DataType type, long count, int destination) {
        messages().send(buffer, type, count, destination, 0);
    }

    @Override
    public Work sendAsync(MemorySegment buffer, DataType type, long count, int destination) {
        return messages().sendAsync(buffer, type, count, destination, 0);
    }

    @Override
    public void recv(MemorySegment buffer, DataType type, long count, int source) {
        messages().recv(buffer, type, count, source, 0);
    }

    @Override
    public Work recvAsync(MemorySegment buffer, DataType type, long count, int source) {
        return messages().recvAsync(buffer, type, count, source, 0);
    }

    @Override
    public void barrier() {
        requests.empty(OpKind.BARRIER, 0, now);
    }

    @Override
    public Work barrierAsync() {
        return submit(requests.empty(OpKind.BARRIER, 0, Call::requested));
    }

    @Override
    public MemorySegment allocate(long bytes) {
        if (bytes < 0) {
            throw new CommException(ErrorCode.USAGE, "allocate: " + bytes + " bytes (expected 0 or more)");
        }
        AtomicReference<MemorySegment> memory = new AtomicReference<>(MemorySegment.NULL);
        run(
                requests.empty(OpKind.ALLOCATE, bytes, Call::requested),
                (backend, call) -> memory.set(backend.allocate(call)));
        return memory.get();
    }

    @Override
    public Optional<List<MemorySegment>> allocateShared(long bytes, Arena arena) {
        if (bytes < 0) {
            throw new CommException(ErrorCode.USAGE, "allocateShared: " + bytes + " bytes (expected 0 or more)");
        }
        if (!arena.scope().isAlive()) {
            throw new CommException(ErrorCode.USAGE, "allocateShared: the arena is closed (expected an open arena)");
        }
        AtomicReference<Optional<List<MemorySegment>>> memory = new AtomicReference<>(Optional.empty());
        run(
                requests.empty(OpKind.ALLOCATE_SHARED, 0, Call::requested),
                (backend, call) -> memory.set(backend.allocateShared(call, bytes, arena)));
        return memory.get();
    }

    @Override
    public ProcessGroup split(int color, int key) {
        return split(color, key, options);
    }

    @Override
    public ProcessGroup split(int color, int key, GroupOptions newOptions) {
        long[] all = new long[SplitRequest.WORDS * size()];
        long[] mine = SplitRequest.of(color, key, newOptions).words();
        plain().allGather(MemorySegment.ofArray(mine), MemorySegment.ofArray(all), DataType.I64, SplitRequest.WORDS);
        int number = runtime.nextSplit();
        record Member(int groupRank, SplitRequest request) {}
        List<Member> chosen = new ArrayList<>();
        for (int groupRank = 0; groupRank < size(); groupRank++) {
            SplitRequest request = SplitRequest.of(all, groupRank);
            if (request.color() == color) {
                chosen.add(new Member(groupRank, request));
            }
        }
        Member first = chosen.getFirst();
        for (Member other : chosen) {
            if (!other.request().agreed().equals(first.request().agreed())) {
                throw new CommException(
                        ErrorCode.USAGE,
                        "split: rank " + worldRank(first.groupRank()) + " gives "
                                + first.request().agreed() + ", rank " + worldRank(other.groupRank()) + " gives "
                                + other.request().agreed() + ". All members of a group must give equal values.");
            }
        }
        chosen.sort(Comparator.comparingLong((Member member) -> member.request().key())
                .thenComparingInt(Member::groupRank));
        return open(number + "c" + color, chosen.stream().map(Member::groupRank).toList(), newOptions);
    }

    @Override
    public ProcessGroup newGroup(List<Integer> groupRanks) {
        return newGroup(groupRanks, options);
    }

    @Override
    public ProcessGroup newGroup(List<Integer> groupRanks, GroupOptions newOptions) {
        ArgumentChecks.members(groupRanks, groupRank(), size());
        return open(runtime.nameOfNewGroup(groupRanks), groupRanks, newOptions);
    }

    private ProcessGroup open(String suffix, List<Integer> groupRanks, GroupOptions newOptions) {
        List<Peer> members =
                groupRanks.stream().map(runtime.context().members()::get).toList();
        return runtime.registry().open(name() + "." + suffix, members, newOptions);
    }

    @Override
    public void abort(String cause) {
        runtime.abort(cause);
    }

    @Override
    public void close() {
        close(Deadline.after(GroupRegistry.CLOSE_GRACE));
    }

    /** Closes as {@link #close()} does, with another grace period. */
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
        if (callOptions.isOfGroup()) {
            runtime.run(kind, type, op, count, root, input, output, uneven, unevenIncoming, callOptions.timeout());
        } else {
            Call request = Call.requested(kind, type, op, count, root, input, output, uneven, unevenIncoming);
            runtime.run(request, wireRequest(request), callOptions.timeout(), this::body);
        }
        return null;
    }

    private Work submit(Call request) {
        return callOptions.isOfGroup()
                ? runtime.submit(request, callOptions.timeout())
                : runtime.submit(request, wireRequest(request), callOptions.timeout(), this::body);
    }

    void run(Call request, BiConsumer<Backend, Call> body) {
        runtime.run(request, callOptions.timeout(), body);
    }

    Work submit(Call request, BiConsumer<Backend, Call> body) {
        return runtime.submit(request, callOptions.timeout(), body);
    }

    /** Returns the request that the data plane gets. */
    Call wireRequest(Call request) {
        if (callOptions.isPlain()) {
            return request;
        }
        callOptions.check(request);
        return request.withType(callOptions.wireType(request.type()));
    }

    /**
     * Returns the action of a view with a factor or compression: the data plane works on a converted copy of the data.
     */
    private BiConsumer<Backend, Call> body(Call request) {
        if (callOptions.isPlain()) {
            return Backend::run;
        }
        boolean receivesResult = request.kind() != OpKind.REDUCE || request.root() == groupRank();
        boolean isInPlace = request.kind() != OpKind.REDUCE_SCATTER;
        if (isInPlace && receivesResult && callOptions.wire() == null) {
            Conversion conversion = conversion(request.type());
            return (backend, call) -> {
                conversion.scale(call.input(), call.count());
                backend.run(call);
            };
        }
        Blocks blocks = Blocks.equal(request.count(), isInPlace ? 1 : size());
        Blocks all = request.uneven() == null ? blocks : request.uneven();
        Buffers input = Buffers.of(request.input(), all.total());
        Buffers output = isInPlace ? input : Buffers.of(request.output(), all.count(groupRank()));
        return packing(request, input, output, receivesResult);
    }

    /** Returns the action of a request on a packed copy of buffers. */
    Packing packing(Call request, Buffers input, Buffers output, boolean receivesResult) {
        boolean isInPlace = request.kind() == OpKind.ALL_REDUCE || request.kind() == OpKind.REDUCE;
        return new Packing(conversion(request.type()), input, output, isInPlace, receivesResult, runtime.scratch());
    }

    private Conversion conversion(DataType type) {
        return new Conversion(type, callOptions.wireType(type), callOptions.factor());
    }
}
