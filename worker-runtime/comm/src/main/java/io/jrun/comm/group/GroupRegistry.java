package io.jrun.comm.group;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.ForeignBackend;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.backend.GroupRendezvous;
import io.jrun.comm.backend.ListenerSocket;
import io.jrun.comm.backend.SoloBackend;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Control;
import io.jrun.comm.control.ControlListener;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.control.RankLocator;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.cuda.MissingLibraryException;
import io.jrun.comm.cuda.StreamWords;
import io.jrun.comm.flight.FlightDump;
import io.jrun.comm.flight.FlightRecorder;
import io.jrun.comm.flight.OpenDumps;
import io.jrun.comm.flight.RankRecords;
import io.jrun.comm.flight.RecordedGroup;
import io.jrun.comm.flight.ThreadDump;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRecord;
import io.jrun.comm.staging.DeviceMessages;
import io.jrun.comm.staging.DevicePlane;
import io.jrun.comm.timeline.Timeline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The open groups of one rank. Forwards the messages of the control connection to each group, and earlier messages to a
 * new group. Thread-safe.
 */
public final class GroupRegistry implements ControlListener {
    /** Makes the data plane at its first use, so that a program without collectives opens nothing. */
    @FunctionalInterface
    public interface FactorySource {
        BackendFactory create(WorldContext context);
    }

    /** The backends of groups of one rank. These groups share nothing. */
    private static final BackendFactory SOLO = new BackendFactory() {
        @Override
        public SoloBackend create(GroupContext group) {
            return new SoloBackend();
        }

        @Override
        public void close() {}
    };

    /** The longest time for which pending operations may delay the close. */
    static final Duration CLOSE_GRACE = Duration.ofSeconds(5);

    /**
     * The same time for receives. The time is short, because the reason of a close is often a failure that the job must
     * learn of.
     */
    static final Duration RECEIVE_GRACE = Duration.ofMillis(500);

    /** The same time for copies of device memory in a group that has failed. The copies are late already. */
    static final Duration LATE_COPY_GRACE = Duration.ofSeconds(1);

    private final FactorySource source;
    private final Optional<RankFiles> files;
    private final Thread owner = Thread.currentThread();
    private final FlightRecorder recorder = new FlightRecorder();
    private final CurrentOperation currentOperation;
    private final List<GroupRuntime> groups = new ArrayList<>();
    private final Map<Integer, String> rankDepartures = new ConcurrentHashMap<>();
    private final AtomicBoolean checkpointRequested = new AtomicBoolean();
    private final AtomicBoolean regroupRequested = new AtomicBoolean();
    private volatile @Nullable FlightDump dump;
    private volatile Timeline timeline = Timeline.NONE;
    private @Nullable CommException cause;
    private @Nullable WorldContext context;
    private @Nullable DeadlockDetector deadlockDetector;
    private @Nullable GroupRendezvous rendezvous;
    private @Nullable Control control;
    private volatile boolean aborted;
    private final Map<String, BackendFactory> factories = new LinkedHashMap<>();
    private final Map<String, Boolean> usesDevices =
            new HashMap<>(Map.of(GroupOptions.OWN_BACKEND, false, GroupOptions.OWN_DEVICE_PLANE, false));
    private volatile @Nullable Cuda cuda;
    private @Nullable StreamWords streamWords;
    private volatile int deviceCount;
    private boolean hasReported;

    /**
     * Makes a registry without groups.
     *
     * @param files where the rank's files are written; empty: the runtime writes no files
     * @param isAlone whether this process has only one rank
     */
    public GroupRegistry(FactorySource source, Optional<RankFiles> files, boolean isAlone) {
        this.source = source;
        this.files = files;
        this.currentOperation = new CurrentOperation(owner, recorder, isAlone);
    }

    /** Returns the thread that joined the world. */
    public Thread owner() {
        return owner;
    }

    /** Returns the owner's current operation. */
    CurrentOperation currentOperation() {
        return currentOperation;
    }

    /** Returns the flight recorder of this rank. */
    FlightRecorder recorder() {
        return recorder;
    }

    /** Opens the first group, and sets the context of all later groups. */
    public synchronized ProcessGroup openWorld(
            WorldContext worldContext, Control coordinator, GroupRendezvous groupRendezvous, GroupOptions options) {
        context = worldContext;
        control = coordinator;
        rendezvous = groupRendezvous;
        files.ifPresent(rankFiles -> {
            FlightDump made = rankFiles.dump(recorder, worldContext);
            OpenDumps.add(made);
            dump = made;
            timeline = rankFiles.openTimeline(worldContext);
            recorder.writeTo(timeline);
        });
        if (worldContext.peers().size() > 1 && !worldContext.locator().equals(RankLocator.NONE)) {
            deadlockDetector = new DeadlockDetector(worldContext, currentOperation, recorder);
        }
        return open("world", worldContext.peers(), options);
    }

    /** The timeline of this rank in its round; a timeline that keeps nothing without a log folder. */
    public Timeline timeline() {
        return timeline;
    }

    /**
     * Opens a group of {@code members}. This rank is one of them.
     *
     * @throws CommException USAGE if the backend of the options does not exist
     */
    synchronized ProcessGroup open(String name, List<Peer> members, GroupOptions options) {
        WorldContext world = world();
        if (usesDevices(options.backend())) {
            library(options.backend());
            openDevices();
        } else if (!isOwn(options.backend())) {
            factory(members.size(), options.backend());
        }
        int groupRank = 0;
        while (members.get(groupRank).rank() != world.rank()) {
            groupRank++;
        }
        RecordedGroup record =
                recorder.group(name, members.stream().map(Peer::rank).toList());
        GroupContext group = new GroupContext(
                world,
                name,
                groupRank,
                members,
                options.deterministic(),
                options.algorithm(),
                options.lateWarning(),
                new GroupHealth(),
                record.waits());
        GroupRuntime opened = new GroupRuntime(group, this, record, options);
        groups.add(opened);
        rankDepartures.forEach(opened::worldRankLeft);
        if (cause != null) {
            opened.poison(cause);
        }
        return new GroupView(opened, options);
    }

    synchronized void remove(GroupRuntime group) {
        groups.remove(group);
    }

    /**
     * Returns the reason why a group of this size and backend cannot use memory of {@code device}; empty if the group
     * can.
     */
    Optional<String> unsupportedReason(int groupSize, String backend, Device device) {
        boolean isLibrary = usesDevices(backend);
        if (isLibrary ? !library(backend).supports(device) : groupSize > 1 && !isOwn(backend)) {
            return Optional.of("the buffer is on the device " + device + ", but the backend " + backend
                    + " of this group of " + groupSize
                    + " cannot use memory of that device. Copy the elements to host memory, or choose the backend "
                    + GroupOptions.OWN_BACKEND + " (--backend " + GroupOptions.OWN_BACKEND + ").");
        }
        String why = device.type().equals("cuda")
                ? openDevices()
                : "jrun moves memory of the host and of CUDA devices. Copy the elements to host memory.";
        if (why.isEmpty() && device.index() >= deviceCount) {
            why = "this process sees " + deviceCount + " GPUs. Check CUDA_VISIBLE_DEVICES.";
        }
        return why.isEmpty() ? Optional.empty() : Optional.of("the buffer is on the device " + device + ", but " + why);
    }

    private static boolean isOwn(String backend) {
        return backend.equals(GroupOptions.OWN_BACKEND) || backend.equals(GroupOptions.OWN_DEVICE_PLANE);
    }

    /** Loads CUDA. Returns why that is not possible, and the remedy; empty after success. */
    private synchronized String openDevices() {
        if (cuda != null) {
            return "";
        }
        try {
            StreamWords opened = StreamWords.open();
            Cuda runtime = Cuda.open();
            deviceCount = runtime.devices();
            streamWords = opened;
            cuda = runtime;
            return "";
        } catch (MissingLibraryException missing) {
            return missing.getMessage() + ".";
        }
    }

    /** CUDA, once a group of this rank has used memory of a device; null before. */
    @Nullable
    Cuda cuda() {
        return cuda;
    }

    /** Makes jrun's own plane for device memory of a group. */
    DevicePlane ownDevicePlane(GroupContext group, Supplier<Backend> host, LongConsumer addSequences) {
        return new DevicePlane(
                group, Objects.requireNonNull(cuda), Objects.requireNonNull(streamWords), host, addSequences);
    }

    /** Makes the messages of device memory of a group. */
    DeviceMessages deviceMessages(GroupContext group) {
        return new DeviceMessages(group, Objects.requireNonNull(cuda), Objects.requireNonNull(streamWords));
    }

    /** Makes the data plane of a library for device memory of a group. */
    Backend deviceLibrary(GroupContext group, String backend) {
        return library(usesDevices(backend) ? backend : Backends.deviceBackend())
                .create(group);
    }

    private synchronized BackendFactory library(String backend) {
        BackendFactory current = factories.get(backend);
        if (current == null) {
            current = create(backend);
            factories.put(backend, current);
        }
        return current;
    }

    /** Whether this rank can use the library for memory of {@code device}: 1 or 0. Then the GPU as a number. */
    long[] deviceFacts(Device device) {
        String backend = Backends.deviceBackend();
        boolean isUsable = !backend.isEmpty()
                && Backends.unavailableReason(backend).isEmpty()
                && library(backend).supports(device);
        String gpu = Objects.requireNonNull(cuda).busId(device.index());
        return new long[] {isUsable ? 1 : 0, gpu.hashCode()};
    }

    /** Returns the reason why this rank cannot use the library, if {@code groupRank} is this rank; else empty. */
    String libraryReason(int groupRank, GroupContext group) {
        String backend = Backends.deviceBackend();
        return groupRank != group.groupRank() || backend.isEmpty()
                ? ""
                : Backends.unavailableReason(backend).map(why -> ": " + why).orElse("");
    }

    /** Prints once that a group does not use the library. */
    synchronized void reportOwnPlane(String group, String why) {
        if (!hasReported) {
            hasReported = true;
            System.err.println(
                    "jrun: " + group + " moves memory of GPUs through host memory, not over NCCL: " + why + ".");
        }
    }

    /** Makes the data plane of a group with the backend of {@code options}. */
    Backend dataPlane(GroupContext group, GroupOptions options) {
        BackendFactory factory = factory(group.size(), options.backend());
        Backend chosen = factory.create(group);
        if (factory.equals(SOLO) || isOwn(options.backend()) || usesDevices(options.backend())) {
            return chosen;
        }
        Backend own = options.compared() && group.size() > 1
                ? factory(group.size(), GroupOptions.OWN_BACKEND).create(group)
                : null;
        return new ForeignBackend(group, chosen, own);
    }

    /** The factory of the data planes in host memory. */
    private synchronized BackendFactory factory(int groupSize, String backend) {
        if (groupSize == 1) {
            return SOLO;
        }
        return library(isOwn(backend) || usesDevices(backend) ? GroupOptions.OWN_BACKEND : backend);
    }

    /** Whether the backend is a library for memory of devices. */
    synchronized boolean usesDevices(String backend) {
        return usesDevices.computeIfAbsent(backend, Backends::usesDevices);
    }

    private BackendFactory create(String backend) {
        WorldContext world = world();
        return backend.equals(GroupOptions.OWN_BACKEND)
                ? source.create(world)
                : Backends.require(backend).create(world, Objects.requireNonNull(rendezvous));
    }

    /** Whether the job is stopping. The coordinator sends this to all ranks. */
    boolean isAborted() {
        return aborted;
    }

    /** Returns the connection to the coordinator of the world. */
    synchronized Control control() {
        return Objects.requireNonNull(control);
    }

    /** Writes a dump, because a group of this rank has failed. */
    void failed(CommException failure) {
        FlightDump current = dump;
        if (current != null) {
            current.begin(failure.code() + ": " + failure.getMessage());
        }
    }

    /** Closes every group, the youngest first and all within one grace period, then closes the shared resources. */
    public void close() {
        closeGroups();
        stopWatching();
        FlightDump current = dump;
        if (current != null) {
            current.worldClosed();
        }
    }

    /**
     * Closes as {@link #close()} does. If the round has failed, first ends pending operations. The next round gets the
     * dump file.
     */
    public void leaveRound(String why) {
        if (!why.isEmpty()) {
            poison(new CommException(ErrorCode.ABORTED, "rank " + world().rank() + " leaves the round: " + why));
        }
        close();
        FlightDump current = dump;
        if (current != null) {
            OpenDumps.remove(current);
        }
    }

    private synchronized void stopWatching() {
        if (deadlockDetector != null) {
            deadlockDetector.close();
        }
    }

    private void closeGroups() {
        Deadline grace = Deadline.after(CLOSE_GRACE);
        for (GroupRuntime group : snapshot().reversed()) {
            group.close(grace);
        }
        List<BackendFactory> current;
        boolean listenerHasOwner;
        synchronized (this) {
            current = List.copyOf(factories.values());
            listenerHasOwner = factories.containsKey(GroupOptions.OWN_BACKEND);
            factories.clear();
        }
        current.forEach(BackendFactory::close);
        if (!listenerHasOwner) {
            ListenerSocket.close(world().listener().orElse(null));
        }
    }

    /** Whether the job asks this rank to leave the round. */
    public boolean isRegroupRequested() {
        return regroupRequested.get();
    }

    /** Returns whether a checkpoint was requested since the last call. */
    public boolean takeCheckpointRequest() {
        return checkpointRequested.getAndSet(false);
    }

    @Override
    public void rankLeft(int rank, String how) {
        rankDepartures.put(rank, how);
        snapshot().forEach(group -> group.worldRankLeft(rank, how));
    }

    @Override
    public void abort(String why) {
        aborted = true;
        poison(new CommException(ErrorCode.ABORTED, "the job is stopping: " + why));
    }

    @Override
    public void checkpointNow() {
        checkpointRequested.set(true);
    }

    @Override
    public void regroup(String why) {
        regroupRequested.set(true);
    }

    @Override
    public RankRecord locate(String group) {
        return recordAbout(group).withStack(ThreadDump.ofThread(owner));
    }

    /** Returns the record of this rank without stacks, for a rank that waits for this rank in {@code group}. */
    public RankRecord recordAbout(String group) {
        return new RankRecords(recorder, world()).about(group, currentOperation.blockedIn());
    }

    @Override
    public List<GroupRecord> waits() {
        return RankRecords.waits(recorder);
    }

    @Override
    public Frame.Alive alive() {
        return new Frame.Alive(recorder.total(), recorder.isInside());
    }

    @Override
    public void connectionLost(String why) {
        poison(new CommException(ErrorCode.ABORTED, "the connection to this node's agent was lost: " + why));
    }

    private void poison(CommException failure) {
        synchronized (this) {
            cause = cause == null ? failure : cause;
        }
        snapshot().forEach(group -> group.poison(failure));
    }

    private synchronized List<GroupRuntime> snapshot() {
        return List.copyOf(groups);
    }

    /** Whether the first group has been opened. */
    public synchronized boolean hasJoined() {
        return context != null;
    }

    private synchronized WorldContext world() {
        WorldContext known = context;
        if (known == null) {
            throw new IllegalStateException("a group was opened before this rank joined the world");
        }
        return known;
    }
}
