package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.DeviceOperation;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.flight.FlightRecorder;
import io.jrun.comm.flight.RecordedGroup;
import io.jrun.comm.message.Inbox;
import io.jrun.comm.operation.DeviceWork;
import io.jrun.comm.operation.OperationQueue;
import io.jrun.comm.operation.PendingOperations;
import io.jrun.comm.staging.DevicePlane;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The state that all views of a group share: queues, data plane, and failure. The data plane opens at first use.
 * Thread-safe.
 */
final class GroupRuntime {
    private final GroupContext context;
    private final GroupRegistry registry;
    private final GroupOptions options;
    private final @Nullable GroupRuntime parent;
    private final FlightRecorder recorder;
    private final RecordedGroup recorded;
    private final AgreedFailure agreedFailure;
    private final OperationRunner runner = new OperationRunner(this);
    private final OperationQueue collectives;
    private final Call collective = Call.blank();
    private final Scratch scratch = new Scratch();
    private final Inbox inbox;
    private final GroupDevices devices;
    private final Object submission = new Object();
    /** Sequence numbers that operations of several steps have used besides their own; guarded by the queue. */
    private long extraSequences;

    private final ConcurrentHashMap<Integer, OperationQueue> sends = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, OperationQueue> receives = new ConcurrentHashMap<>();
    private final Object lifecycle = new Object();
    private volatile @Nullable Backend backend;
    private volatile @Nullable GroupRuntime urgent;
    private boolean closed;
    private boolean released;
    private int splits;
    private final Map<List<Integer>, Integer> newGroups = new HashMap<>();

    /** Makes the runtime of a new group. */
    GroupRuntime(GroupContext context, GroupRegistry registry, RecordedGroup recorded, GroupOptions options) {
        this(context, registry, recorded, options, null);
    }

    /** @param parent group of an urgent view; null: a group of its own */
    private GroupRuntime(
            GroupContext context,
            GroupRegistry registry,
            RecordedGroup recorded,
            GroupOptions options,
            @Nullable GroupRuntime parent) {
        this.context = context;
        this.registry = registry;
        this.options = options;
        this.parent = parent;
        this.recorder = registry.recorder();
        this.recorded = recorded;
        this.agreedFailure = parent == null ? new AgreedFailure(context, registry.control()) : parent.agreedFailure;
        this.collectives = new OperationQueue(context.label());
        this.inbox = new Inbox(context, this::fail);
        this.devices = new GroupDevices(
                context, registry, options, this::backend, this::ownDevicePlane, () -> extraSequences++);
    }

    private DevicePlane ownDevicePlane() {
        return registry.ownDevicePlane(context, this::backend, more -> extraSequences += more);
    }

    /** The planes for memory of devices. */
    GroupDevices devices() {
        return devices;
    }

    /** Returns why the group cannot use memory of {@code device}; empty if it can. */
    Optional<String> unsupportedReason(Device device) {
        return registry.unsupportedReason(context.size(), options.backend(), device);
    }

    /** The number that the data plane adds to the number of the current collective in its queue. */
    long extraSequences() {
        return extraSequences;
    }

    GroupContext context() {
        return context;
    }

    GroupRegistry registry() {
        return registry;
    }

    GroupHealth health() {
        return context.health();
    }

    FlightRecorder recorder() {
        return recorder;
    }

    RecordedGroup recorded() {
        return recorded;
    }

    /** The scratch memory of the current collective. */
    Scratch scratch() {
        return scratch;
    }

    /**
     * Returns the runtime of the urgent view: the same ranks with separate queues and a separate data plane. Both fail
     * together.
     */
    GroupRuntime urgent() {
        if (parent != null) {
            return this;
        }
        synchronized (lifecycle) {
            if (closed) {
                throw closedFailure();
            }
            GroupRuntime made = urgent;
            if (made == null) {
                String name = context.name() + ".urgent";
                RecordedGroup record = recorder.group(
                        name, context.members().stream().map(Peer::rank).toList());
                made = new GroupRuntime(context.withName(name, record.waits()), registry, record, options, this);
                urgent = made;
            }
            return made;
        }
    }

    OperationRunner runner() {
        return runner;
    }

    /**
     * Runs a collective after all earlier collectives, and returns when the collective is done. If no collective is
     * before it, the call allocates no object.
     */
    void run(
            OpKind kind,
            DataType type,
            ReduceOp op,
            long count,
            int root,
            MemorySegment input,
            MemorySegment output,
            @Nullable Blocks uneven,
            @Nullable Blocks unevenIncoming,
            Duration timeout) {
        if (registry.cuda() != null) {
            Call request = Call.requested(kind, type, op, count, root, input, output, uneven, unevenIncoming);
            Device device = deviceOf(request);
            if (device != null) {
                submit(request, timeout, device, Backend::run, false).awaitOn(DeviceStream.defaultOf(device));
                return;
            }
        }
        long sequence = collectives.enter();
        if (sequence == OperationQueue.OCCUPIED) {
            Call request = Call.requested(kind, type, op, count, root, input, output, uneven, unevenIncoming);
            submit(request, timeout, Backend::run).await();
            return;
        }
        try {
            collective.become(
                    sequence + extraSequences,
                    kind,
                    type,
                    op,
                    count,
                    root,
                    input,
                    output,
                    timeout,
                    uneven,
                    unevenIncoming);
            runner.run(collective, FlightRecorder.NO_TICKET, Backend::run);
        } finally {
            collectives.leave();
        }
    }

    /** Runs a collective with {@code body} as its action on the data plane. */
    void run(Call request, Duration timeout, BiConsumer<Backend, Call> body) {
        collectives.run(new GroupTask(this, request, timeout, body));
    }

    /** Queues a collective after all earlier collectives. */
    Work submit(Call request, Duration timeout, BiConsumer<Backend, Call> body) {
        return collectives.submit(new GroupTask(this, request, timeout, body));
    }

    /** Queues a collective whose buffers may be device memory. */
    Work submit(Call request, Duration timeout) {
        Device device = deviceOf(request);
        return device == null
                ? submit(request, timeout, Backend::run)
                : submit(request, timeout, device, Backend::run, false);
    }

    /**
     * Queues a collective whose elements are converted, in memory of any device.
     *
     * @param wire the call that the data plane gets
     * @param body returns the action of a call on memory with the elements of the program
     */
    Work submit(Call request, Call wire, Duration timeout, Function<Call, BiConsumer<Backend, Call>> body) {
        Device device = devices.deviceOf(request);
        return device == null
                ? submit(wire, timeout, body.apply(request))
                : submit(
                        request,
                        wire,
                        timeout,
                        device,
                        (backend, call) ->
                                body.apply(call.withType(request.type())).accept(backend, call),
                        true);
    }

    /** Runs a collective whose elements are converted, see {@link #submit(Call, Call, Duration, Function)}. */
    void run(Call request, Call wire, Duration timeout, Function<Call, BiConsumer<Backend, Call>> body) {
        Device device = devices.deviceOf(request);
        if (device == null) {
            run(wire, timeout, body.apply(request));
        } else {
            submit(request, wire, timeout, body).awaitOn(DeviceStream.defaultOf(device));
        }
    }

    /** The device of the buffers; null for host memory, and for an operation that moves nothing. */
    private @Nullable Device deviceOf(Call request) {
        boolean movesNothing = context.size() == 1 && request.kind().isInPlace();
        return movesNothing ? null : devices.deviceOf(request);
    }

    private Work submit(Call request, Duration timeout, Device device, DevicePlane.Step step, boolean isConverted) {
        return submit(request, request, timeout, device, step, isConverted);
    }

    private Work submit(
            Call request, Call wire, Duration timeout, Device device, DevicePlane.Step step, boolean isConverted) {
        // Copies are on their streams in the order of the queue.
        synchronized (submission) {
            Call timed = request.withDeadline(Deadline.after(timeout));
            return submit(wire, timeout, devices.begin(timed, device, step, isConverted));
        }
    }

    private Work submit(Call request, Duration timeout, DeviceOperation operation) {
        DeviceWork work = new DeviceWork(operation);
        if (operation.isOnStream()) {
            work.onStream();
        }
        var _ = operation.done().whenComplete((_, failure) -> {
            if (failure == null) {
                work.complete();
            } else {
                work.fail(failure instanceof CommException found ? fail(found) : failure);
            }
        });
        var _ = submit(request, timeout, (Backend _, Call call) -> operation.enqueue(call, work::onStream))
                .future()
                .whenComplete((_, failure) -> {
                    if (failure != null) {
                        work.fail(failure);
                    }
                });
        return work;
    }

    /** Returns the queue of the messages to a rank. */
    OperationQueue sends(int peer) {
        return messages(sends, "to", peer);
    }

    /** Returns the inbox of the messages to this rank. */
    Inbox inbox() {
        return inbox;
    }

    /** Returns the queue of asynchronous receives from a rank. Receives from any rank have the number {@code size}. */
    OperationQueue receives(int peer) {
        return messages(receives, "from", peer);
    }

    private OperationQueue messages(ConcurrentHashMap<Integer, OperationQueue> queues, String direction, int peer) {
        OperationQueue open = queues.get(peer);
        if (open != null) {
            return open;
        }
        synchronized (lifecycle) {
            if (closed) {
                throw closedFailure();
            }
            return queues.computeIfAbsent(
                    peer, _ -> new OperationQueue(context.label() + " " + direction + " " + peer));
        }
    }

    /** Returns the number of the next split. All members get the same number. */
    synchronized int nextSplit() {
        return splits++;
    }

    /**
     * Returns the name of a new group of {@code groupRanks}: the same on all members, and another name at each call.
     */
    synchronized String nameOfNewGroup(List<Integer> groupRanks) {
        return GroupName.of(groupRanks, newGroups.merge(List.copyOf(groupRanks), 1, Integer::sum));
    }

    /** Returns the data plane. The first call opens the data plane. */
    Backend backend() {
        Backend current = backend;
        return current != null ? current : openBackend();
    }

    private Backend openBackend() {
        synchronized (lifecycle) {
            if (released) {
                throw closedFailure();
            }
            Backend current = backend;
            if (current == null) {
                current = registry.dataPlane(context, options);
                backend = current;
                current.healthChanged();
            }
            return current;
        }
    }

    private CommException closedFailure() {
        return OperationQueue.closed(context.label());
    }

    void abort(String cause) {
        if (context.size() > 1 && !health().isImpaired()) {
            Backend _ = backend(); // The data plane reports the abort to the other members.
        }
        poison(new CommException(
                ErrorCode.ABORTED,
                context.label() + " was aborted by " + context.describe(context.groupRank()) + ": " + cause));
    }

    /** Fails the group after a failed operation. Returns the cause that all ranks report. */
    CommException fail(CommException failure) {
        health().failureDeadline().failed();
        Backend current = backend;
        CommException settled = current == null ? failure : current.settle(failure);
        CommException agreed = registry.isAborted() ? settled : agreedFailure.of(settled);
        poison(agreed);
        boolean isOwn = String.valueOf(agreed.getMessage()).equals(failure.getMessage());
        return isOwn ? failure : new CommException(agreed.code(), String.valueOf(agreed.getMessage()), failure);
    }

    void poison(CommException cause) {
        if (parent != null) {
            parent.poison(cause);
            return;
        }
        health().poison(cause);
        healthChanged();
        registry.failed(cause);
    }

    void worldRankLeft(int worldRank, String how) {
        for (int groupRank = 0; groupRank < context.size(); groupRank++) {
            if (context.members().get(groupRank).rank() == worldRank) {
                health().left(groupRank, how);
                healthChanged();
            }
        }
    }

    private void healthChanged() {
        Backend current = backend;
        if (current != null) {
            current.healthChanged();
        }
        devices.healthChanged();
        inbox.healthChanged();
        GroupRuntime child = urgent;
        if (child != null) {
            child.healthChanged();
        }
    }

    /**
     * Lets pending operations end until {@code grace} has passed, poisons the remaining operations, and releases all
     * resources.
     */
    void close(Deadline grace) {
        if (parent != null) {
            parent.close(grace);
            return;
        }
        OperationQueue.refuseWaiting("closing " + context.label());
        List<PendingOperations> others = new ArrayList<>();
        List<PendingOperations> receiving = new ArrayList<>();
        if (!closeQueues(others, receiving)) {
            return;
        }
        if (!haveEnded(others, grace) || !haveEnded(receiving, grace.atMost(GroupRegistry.RECEIVE_GRACE))) {
            poison(new CommException(
                    ErrorCode.ABORTED,
                    context.label() + " was closed by " + context.describe(context.groupRank())
                            + " while operations were pending that did not end within a grace of "
                            + grace.timeout().toSeconds() + " s, or receives within "
                            + GroupRegistry.RECEIVE_GRACE.toMillis()
                            + " ms. That rank may be failing, see its log; otherwise await all Work before closing."));
            others.addAll(receiving);
            if (!haveEnded(others, Deadline.after(GroupRegistry.CLOSE_GRACE))) {
                throw new CommException(
                        ErrorCode.SYSTEM,
                        context.label() + " cannot be closed: a continuation of Work.future() has not returned.");
            }
        }
        registry.remove(this);
        boolean isHealthy = health().cause() == null;
        release(Deadline.after(isHealthy ? GroupRegistry.CLOSE_GRACE : GroupRegistry.LATE_COPY_GRACE));
    }

    /** Closes all queues and adds them to one of the lists. Returns false if the queues are closed already. */
    private boolean closeQueues(List<PendingOperations> others, List<PendingOperations> receiving) {
        synchronized (lifecycle) {
            if (closed) {
                return false;
            }
            closed = true;
        }
        others.add(collectives);
        others.addAll(sends.values());
        receiving.add(inbox);
        receiving.addAll(receives.values());
        GroupRuntime child = urgent;
        if (child != null) {
            boolean _ = child.closeQueues(others, receiving);
        }
        others.forEach(PendingOperations::close);
        receiving.forEach(PendingOperations::close);
        return true;
    }

    private static boolean haveEnded(List<PendingOperations> queues, Deadline deadline) {
        return queues.stream().allMatch(queue -> queue.awaitEnd(deadline));
    }

    /** @param copies when to wait no longer for copies of device memory */
    private void release(Deadline copies) {
        Backend current;
        synchronized (lifecycle) {
            released = true;
            current = backend;
        }
        devices.close(copies); // The planes of devices use the data plane of the host.
        synchronized (lifecycle) {
            backend = null;
        }
        if (current != null) {
            current.close();
        }
        recorder.closed(recorded);
        GroupRuntime child = urgent;
        if (child != null) {
            child.release(copies);
        }
    }
}
