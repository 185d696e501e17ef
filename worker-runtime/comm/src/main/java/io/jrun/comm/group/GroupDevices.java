package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.DeviceOperation;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.staging.DeviceMessages;
import io.jrun.comm.staging.DevicePlane;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The planes of one group for memory of GPUs: a library such as NCCL, and jrun's own plane over the host's data plane.
 * With the backend {@code jrun}, the ranks agree on the plane at the group's first operation on device memory: the
 * library if each rank can use the library and has a GPU of its own, else jrun's own plane. {@link #begin} is called in
 * the order of the operations. Thread-safe.
 */
final class GroupDevices {
    /** Words of each rank in the agreement: whether the library can be used, and the GPU. */
    private static final int FACTS = 2;

    private enum Plane {
        UNDECIDED,
        LIBRARY,
        OWN
    }

    private final GroupContext context;
    private final GroupRegistry registry;
    private final GroupOptions options;
    private final Supplier<Backend> host;
    private final Supplier<DevicePlane> makeOwn;
    private final Runnable addSequence;
    private Plane plane;
    private @Nullable DevicePlane own;
    private @Nullable Backend library;
    private @Nullable DeviceMessages messages;
    private int undecided;

    /**
     * Makes the planes of a group. Opens nothing.
     *
     * @param host the data plane in host memory
     * @param makeOwn makes jrun's own plane
     * @param addSequence the current operation has used one more sequence number
     */
    GroupDevices(
            GroupContext context,
            GroupRegistry registry,
            GroupOptions options,
            Supplier<Backend> host,
            Supplier<DevicePlane> makeOwn,
            Runnable addSequence) {
        this.context = context;
        this.registry = registry;
        this.options = options;
        this.host = host;
        this.makeOwn = makeOwn;
        this.addSequence = addSequence;
        boolean isAgreed = options.backend().equals(GroupOptions.OWN_BACKEND) && context.size() > 1;
        this.plane = isAgreed ? Plane.UNDECIDED : registry.usesDevices(options.backend()) ? Plane.LIBRARY : Plane.OWN;
    }

    /**
     * Returns the device that holds the buffers of a call; null for host memory.
     *
     * @throws CommException USAGE if the buffers are on different devices
     */
    @Nullable
    Device deviceOf(Call request) {
        Cuda cuda = registry.cuda();
        if (cuda == null) {
            return null;
        }
        MemorySegment input = request.input();
        MemorySegment output = request.output();
        Device ofInput = cuda.deviceOf(input);
        boolean isSame = input.byteSize() == 0 || output.byteSize() == 0 || input.equals(output);
        if (isSame) {
            return ofInput != null || input.equals(output) ? ofInput : cuda.deviceOf(output);
        }
        Device ofOutput = cuda.deviceOf(output);
        if (!Objects.equals(ofInput, ofOutput)) {
            throw new CommException(
                    ErrorCode.USAGE,
                    request.kind().methodName() + ": the input is " + place(ofInput) + " and the output is "
                            + place(ofOutput) + ". Use buffers on one device.");
        }
        return ofInput;
    }

    private static String place(@Nullable Device device) {
        return device == null ? "in host memory" : "on the device " + device;
    }

    /**
     * Begins an operation on device memory.
     *
     * @param request the call without its number, with its deadline
     * @param step runs one step of the operation in host memory
     * @param isConverted whether the step converts elements, which only jrun's own plane can
     */
    synchronized DeviceOperation begin(Call request, Device device, DevicePlane.Step step, boolean isConverted) {
        if (undecided > 0 || (plane == Plane.UNDECIDED && !isConverted)) {
            undecided++;
            return new Undecided(request, device, step, isConverted);
        }
        return beginNow(request, device, step, isConverted);
    }

    private DeviceOperation beginNow(Call request, Device device, DevicePlane.Step step, boolean isConverted) {
        if (plane != Plane.LIBRARY || isConverted) {
            return own().begin(request, device, step);
        }
        DeviceOperation operation = library().onDevice(request, device);
        if (operation == null) {
            throw new CommException(
                    ErrorCode.USAGE,
                    request.kind().methodName() + ": the library does not take memory of the device " + device);
        }
        return options.compared() && context.size() > 1 ? new Compared(operation) : operation;
    }

    private DevicePlane own() {
        DevicePlane made = own;
        if (made == null) {
            made = makeOwn.get();
            own = made;
        }
        return made;
    }

    private Backend library() {
        Backend made = library;
        if (made == null) {
            made = registry.deviceLibrary(context, options.backend());
            library = made;
        }
        return made;
    }

    /** The first operation of a group, and operations that are called before the ranks have agreed. */
    private final class Undecided implements DeviceOperation {
        private final Call request;
        private final Device device;
        private final DevicePlane.Step step;
        private final boolean isConverted;
        private final CompletableFuture<Void> done = new CompletableFuture<>();
        private volatile @Nullable DeviceOperation chosen;

        Undecided(Call request, Device device, DevicePlane.Step step, boolean isConverted) {
            this.request = request;
            this.device = device;
            this.step = step;
            this.isConverted = isConverted;
        }

        @Override
        public DeviceStream defaultStream() {
            return DeviceStream.defaultOf(device);
        }

        @Override
        public void enqueue(Call call, Runnable onStream) {
            Call next = call;
            if (isUndecided()) {
                decide(call, device);
                addSequence.run();
                next = call.numbered(call.sequence() + 1, call.deadline());
            }
            DeviceOperation operation;
            synchronized (GroupDevices.this) {
                operation = beginNow(request.withDeadline(call.deadline()), device, step, isConverted);
                undecided--;
            }
            chosen = operation;
            var _ = operation.done().whenComplete((_, failure) -> {
                if (failure == null) {
                    done.complete(null);
                } else {
                    done.completeExceptionally(failure);
                }
            });
            operation.enqueue(next, onStream);
        }

        @Override
        public void awaitOn(DeviceStream stream) {
            Objects.requireNonNull(chosen).awaitOn(stream);
        }

        @Override
        public CompletableFuture<Void> done() {
            return done;
        }
    }

    private synchronized boolean isUndecided() {
        return plane == Plane.UNDECIDED;
    }

    /** The ranks compare a call while the library runs the operation, so that no stream waits for the comparison. */
    private final class Compared implements DeviceOperation {
        private final DeviceOperation operation;

        Compared(DeviceOperation operation) {
            this.operation = operation;
        }

        @Override
        public DeviceStream defaultStream() {
            return operation.defaultStream();
        }

        @Override
        public boolean isOnStream() {
            return operation.isOnStream();
        }

        @Override
        public void enqueue(Call call, Runnable onStream) {
            operation.enqueue(call, onStream);
            MemorySegment none = MemorySegment.NULL;
            host.get().run(call.part(call.sequence(), OpKind.BARRIER, ReduceOp.SUM, 0, 0, none, none));
        }

        @Override
        public void awaitOn(DeviceStream stream) {
            operation.awaitOn(stream);
        }

        @Override
        public CompletableFuture<Void> done() {
            return operation.done();
        }
    }

    /** Agrees on the plane with the other ranks, on the group's thread. */
    private void decide(Call call, Device device) {
        long[] mine = registry.deviceFacts(device);
        long[] all = new long[FACTS * context.size()];
        host.get()
                .run(new Call(
                        call.sequence(),
                        OpKind.ALL_GATHER,
                        DataType.I64,
                        ReduceOp.SUM,
                        FACTS,
                        0,
                        MemorySegment.ofArray(mine),
                        MemorySegment.ofArray(all),
                        call.deadline()));
        String why = reasonForOwn(all);
        synchronized (this) {
            plane = why.isEmpty() ? Plane.LIBRARY : Plane.OWN;
        }
        if (!why.isEmpty() && context.groupRank() == 0) {
            registry.reportOwnPlane(context.label(), why);
        }
    }

    /** Returns why the group cannot use the library; empty if the group can. */
    private String reasonForOwn(long[] facts) {
        for (int rank = 0; rank < context.size(); rank++) {
            if (facts[FACTS * rank] == 0) {
                return "NCCL cannot be used on " + context.describe(rank) + registry.libraryReason(rank, context);
            }
        }
        for (int rank = 0; rank < context.size(); rank++) {
            for (int other = rank + 1; other < context.size(); other++) {
                boolean isOneNode = context.members().get(rank).nodeRank()
                        == context.members().get(other).nodeRank();
                if (isOneNode && facts[FACTS * rank + 1] == facts[FACTS * other + 1]) {
                    return context.describe(rank) + " and " + context.describe(other) + " share one GPU";
                }
            }
        }
        return "";
    }

    /** The messages of device memory. */
    synchronized DeviceMessages messages() {
        DeviceMessages made = messages;
        if (made == null) {
            made = registry.deviceMessages(context);
            messages = made;
        }
        return made;
    }

    /** The health of the group has changed. */
    void healthChanged() {
        DevicePlane made;
        synchronized (this) {
            made = own;
        }
        if (made != null) {
            made.healthChanged();
        }
    }

    /** Closes all planes. Waits for copies until {@code grace}. All operations have ended or failed. */
    void close(Deadline grace) {
        Backend made;
        DevicePlane madeOwn;
        DeviceMessages madeMessages;
        synchronized (this) {
            madeMessages = messages;
            made = library;
            library = null;
            madeOwn = own;
        }
        if (made != null) {
            made.close();
        }
        if (madeMessages != null) {
            madeMessages.close(grace);
        }
        if (madeOwn != null) {
            madeOwn.close(grace);
        }
    }
}
