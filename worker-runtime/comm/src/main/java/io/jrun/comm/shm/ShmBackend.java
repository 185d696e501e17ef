package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.LateRankWarning;
import io.jrun.comm.backend.PausePoint;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** One rank's end of a group over shared memory: its mappings, and the classes that use them. */
final class ShmBackend implements Backend {
    private static final long MIN_REGION_BYTES = 64;

    private final GroupContext group;
    private final Segment control;
    private final ControlBlock block;
    private final SharedFailure poison;
    private final PhaseSynchronization steps;
    private final RegionFiles files;
    private final RegisteredMemory memory = new RegisteredMemory();
    private final Mailboxes mailboxes;
    private final PausePoint pause;
    private final Arena arena = Arena.ofShared();
    private final ShmCollectives collectives;
    private final Object mappings = new Object();
    private boolean closed;

    /**
     * Maps the group's control segment, or creates the segment if this is the first rank.
     *
     * @param fileNames file name of each of the group's segments, equal on all ranks
     * @param pieceBytes value of {@link ControlBlock#pieceBytes}
     */
    ShmBackend(GroupContext group, UnaryOperator<String> fileNames, long pieceBytes) {
        this.group = group;
        int size = group.size();
        this.control = openOrCreate(fileNames.apply("control"), size);
        this.block = new ControlBlock(control.address(), size);
        this.poison = new SharedFailure(block);
        RankPositions positions = new RankPositions(group, block);
        LateRankWarning late = new LateRankWarning(group);
        MismatchCheck mismatch = new MismatchCheck(group, block, poison, positions, late);
        FutexWait waiting = new FutexWait(group, poison, mismatch, positions, late);
        this.steps = new PhaseSynchronization(group, block, waiting, mismatch);
        this.mailboxes = new Mailboxes(group, control, block, waiting, mismatch);
        this.pause = group.world().pause();
        this.files = new RegionFiles(group, fileNames, steps, poison, pause);
        this.collectives = new ShmCollectives(group, block, steps, memory, this::makeStaging, pause, arena);
        SharedWords.plain(block.pieceBytes(group.groupRank()), pieceBytes);
        FutexWait.publish(block.present(group.groupRank()), 1, block.waiters(group.groupRank()));
        if (SharedWords.add(block.attached(), 1) == size) {
            control.unlink();
        }
    }

    @Override
    public void run(Call call) {
        switch (call.kind()) {
            case SEND -> mailboxes.send(call);
            case RECV -> mailboxes.receive(call);
            case BROADCAST, ALL_REDUCE, REDUCE, ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER, ALL_TO_ALL, BARRIER ->
                collectives.run(call);
            case ALLOCATE, ALLOCATE_SHARED ->
                throw new IllegalArgumentException(call.describe() + " runs in its own method, not in run()");
        }
    }

    @Override
    public String algorithm(Call call) {
        return "shared-memory";
    }

    @Override
    public void send(Call call) {
        run(call);
    }

    @Override
    public Envelope next(Call receive) {
        return mailboxes.next(receive);
    }

    @Override
    public void receive(Call call) {
        run(call);
    }

    @Override
    public boolean hasMessage(int source) {
        return mailboxes.hasMessage(source);
    }

    @Override
    public MemorySegment allocate(Call call) {
        steps.enter(call, RegisteredMemory.NOWHERE, 0);
        List<Segment> byRank = mapEverywhere(call, fileBytes(call.count()));
        steps.leave(call);
        return byRank.get(group.groupRank()).memory().asSlice(0, call.count());
    }

    @Override
    public Optional<List<MemorySegment>> allocateShared(Call call, long bytes, Arena lifetime) {
        int region = memory.count();
        Segment own = files.createIfRoom(region, fileBytes(bytes)).orElse(null);
        long[] sizes = {};
        try {
            steps.enter(call, own == null ? RegisteredMemory.NOWHERE : bytes, 0);
            sizes = sizes(call);
        } finally {
            if (own != null && sizes.length == 0) {
                own.close();
            }
        }
        if (own == null || sizes.length == 0) {
            steps.leave(call);
            return Optional.empty();
        }
        List<Segment> byRank = files.map(
                call,
                region,
                own,
                Arrays.stream(sizes).map(ShmBackend::fileBytes).toArray());
        steps.leave(call);
        List<MemorySegment> memories = new ArrayList<>();
        for (int rank = 0; rank < sizes.length; rank++) {
            Segment segment = byRank.get(rank);
            memories.add(segment.memory().asSlice(0, sizes[rank]).reinterpret(lifetime, _ -> segment.close()));
        }
        return Optional.of(List.copyOf(memories));
    }

    /** The size of the file of a rank's memory: a file of 0 bytes cannot be mapped. */
    private static long fileBytes(long bytes) {
        return Math.max(bytes, MIN_REGION_BYTES);
    }

    /** The sizes of the segments, which the ranks have given as locations; none if a rank has no segment. */
    private long[] sizes(Call call) {
        long[] sizes = new long[group.size()];
        for (int rank = 0; rank < sizes.length; rank++) {
            sizes[rank] = SharedWords.plain(ControlBlock.location(block.entry(rank, call.sequence())));
            if (sizes[rank] == RegisteredMemory.NOWHERE) {
                return new long[0];
            }
        }
        return sizes;
    }

    /** Returns the first failure that a rank has written to the control block. All ranks return the same failure. */
    @Override
    public CommException settle(CommException failure) {
        synchronized (mappings) {
            if (closed) {
                return group.health().settle(failure);
            }
            CommException settled = group.health().settle(poison.settle(failure));
            removeNewestRegions(); // Only now: a rank that does not find a file must find the cause.
            return settled;
        }
    }

    /**
     * Removes the names of the newest regions. A rank that was killed while it mapped a region may have left the name
     * of its part behind. For the other ranks, that region is the last region or the region in the making.
     */
    private void removeNewestRegions() {
        for (int region = Math.max(0, memory.count() - 1); region <= memory.count(); region++) {
            files.remove(region);
        }
    }

    /**
     * Reports a failure to the other ranks, and wakes all sleeping threads of all ranks so that they see the failure.
     */
    @Override
    public void healthChanged() {
        synchronized (mappings) {
            if (closed) {
                return;
            }
            CommException cause = group.health().cause();
            if (cause != null) {
                poison.write(cause);
            }
            for (int rank = 0; rank < group.size(); rank++) {
                if (SharedWords.latestInt(block.waiters(rank)) != 0) {
                    SystemCalls.futexWake(block.entry(rank, 0));
                    SystemCalls.futexWake(block.entry(rank, 1));
                    SystemCalls.futexWake(block.phase(rank));
                    SystemCalls.futexWake(block.present(rank));
                }
            }
            mailboxes.wakeAll();
        }
    }

    @Override
    public void close() {
        synchronized (mappings) {
            closed = true;
            boolean hasFailed = group.health().cause() != null;
            if (hasFailed) {
                removeNewestRegions();
            }
            memory.close();
            boolean isLast = SharedWords.add(block.detached(), 1) == SharedWords.latestInt(block.attached());
            if (isLast || hasFailed) {
                control.unlink();
            }
            // The name stays for ranks that use the group for the first time later.
            control.closeFile();
            control.close();
            arena.close();
        }
    }

    private long[] makeStaging(Call call, long bytes) {
        return mapEverywhere(call, bytes).stream().mapToLong(Segment::address).toArray();
    }

    /**
     * Collective. Makes this rank's segment of the next region, and registers the segments of all ranks. The result is
     * by rank.
     */
    private List<Segment> mapEverywhere(Call call, long bytes) {
        int region = memory.count();
        long[] sizes = new long[group.size()];
        Arrays.fill(sizes, bytes);
        List<Segment> byRank = files.map(call, region, files.create(region, bytes), sizes);
        synchronized (mappings) {
            memory.add(byRank, group.groupRank(), bytes);
        }
        return byRank;
    }

    private static Segment openOrCreate(String name, int size) {
        long bytes = ControlBlock.bytes(size);
        while (true) {
            // Both are empty only if another rank created the segment between the two calls. The next iteration then
            // finds it.
            Optional<Segment> found =
                    Segment.open(name, bytes).or(() -> Segment.create(name, bytes, ControlBlock.reservedBytes(size)));
            if (found.isPresent()) {
                return found.get();
            }
        }
    }
}
