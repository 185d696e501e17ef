package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One group over TCP: lanes for its collectives, and one for each direction of messages with each peer. When the group
 * fails, the others are told why, over connections made for that: the streams themselves may be stuck in the middle of a
 * frame, or full.
 */
final class TcpBackend implements Backend {
    private static final long ALIGNMENT = 64;

    /** Which lane of messages: with whom, and which way. */
    private record Direction(int peer, OpKind kind) {}

    private final GroupContext group;
    private final ConnectionSetup setup;
    private final Arena arena = Arena.ofShared();
    private final PausePoint pause;
    private final Stripes collectives;
    private final Consumer<CommException> onFailure;
    private final Set<Integer> alwaysTold;
    private final ConcurrentHashMap<Direction, TcpChannel> messages = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable FailureGossip> failureGossip = new AtomicReference<>();

    private TcpBackend(
            GroupContext group,
            ConnectionSetup setup,
            TcpOptions options,
            Consumer<CommException> onFailure,
            Set<Integer> alwaysTold) {
        this.onFailure = onFailure;
        this.alwaysTold = Set.copyOf(alwaysTold);
        this.group = group;
        this.setup = setup;
        this.pause = group.world().pause();
        this.collectives = openStripes(options);
    }

    static TcpBackend open(
            GroupContext group,
            ConnectionSetup setup,
            TcpOptions options,
            Consumer<CommException> onFailure,
            Set<Integer> alwaysTold) {
        return new TcpBackend(group, setup, options, onFailure, alwaysTold);
    }

    @Override
    public void run(Call call) {
        try {
            if (call.kind().isMessage()) {
                runMessage(call);
            } else {
                runCollective(call);
            }
        } catch (CommException failure) {
            failed(failure);
            throw failure;
        }
    }

    private void runCollective(Call call) {
        pause.reached(call, "enter");
        collectives.run(call);
        pause.reached(call, "exit");
    }

    private void runMessage(Call call) {
        pause.reached(call, "enter");
        TcpChannel lane = messages(call.root(), call.kind());
        lane.begin(call, Algorithm.DIRECT);
        MemorySegment buffer = call.input().asSlice(0, call.bytes());
        lane.await(call.kind() == OpKind.SEND ? lane.send(call.root(), buffer) : lane.receive(call.root(), buffer));
        pause.reached(call, "exit");
    }

    @Override
    public void send(Call call) {
        run(call);
    }

    @Override
    public Envelope next(Call receive) {
        try {
            TcpChannel lane = messages(receive.root(), OpKind.RECV);
            lane.begin(receive, Algorithm.DIRECT);
            return lane.next(receive.root());
        } catch (CommException failure) {
            failed(failure);
            throw failure;
        }
    }

    @Override
    public void receive(Call call) {
        run(call);
    }

    @Override
    public boolean hasMessage(int source) {
        return messages(source, OpKind.RECV).hasMessage(source);
    }

    @Override
    public MemorySegment allocate(Call call) {
        run(call);
        return arena.allocate(call.bytes(), ALIGNMENT);
    }

    /** A rank that has told all others its cause, and heard from each the one it knew, knows every cause there is. */
    @Override
    public CommException settle(CommException failure) {
        failed(failure);
        awaitFarewell();
        return group.health().settle();
    }

    @Override
    public void healthChanged() {
        collectives.wake();
        messages.values().forEach(TcpChannel::wake);
        CommException cause = group.health().cause();
        if (cause != null && failureGossip.get() == null) {
            FailureGossip mine =
                    new FailureGossip(group, ChannelId.ofCollectives(group), neighbours(), this::failedElsewhere);
            if (failureGossip.compareAndSet(null, mine)) {
                mine.sayBy(setup);
            }
        }
    }

    @Override
    public void close() {
        awaitFarewell();
        messages.values().forEach(TcpChannel::close);
        collectives.close();
        arena.close();
    }

    // A failing rank often ends its process at once; its peers should hear why rather than find a cut connection.
    private void awaitFarewell() {
        FailureGossip said = failureGossip.get();
        if (said != null) {
            said.await();
        }
    }

    private Set<Integer> neighbours() {
        Set<Integer> result = FailureGossip.audience(group.groupRank(), group.size());
        result.addAll(alwaysTold);
        result.addAll(collectives.neighbours());
        messages.values().forEach(lane -> result.addAll(lane.neighbours()));
        return result;
    }

    private Stripes openStripes(TcpOptions options) {
        AlgorithmSelector selector = group.algorithm().isEmpty()
                ? options.selector()
                : options.selector().forcing(group.algorithm());
        List<Stripe> stripes = new ArrayList<>();
        for (int index = 0; index < options.connections(); index++) {
            TcpChannel lane = openLane(ChannelId.ofCollectives(group, index));
            stripes.add(new Stripe(group, selector, lane, arena, pause));
        }
        return new Stripes(group, stripes, this::failed);
    }

    private TcpChannel messages(int peer, OpKind kind) {
        return messages.computeIfAbsent(new Direction(peer, kind), this::openMessages);
    }

    private TcpChannel openMessages(Direction direction) {
        boolean outgoing = direction.kind() == OpKind.SEND;
        int sender = outgoing ? group.groupRank() : direction.peer();
        int receiver = outgoing ? direction.peer() : group.groupRank();
        return openLane(ChannelId.ofMessages(group, sender, receiver));
    }

    private TcpChannel openLane(long id) {
        try {
            Selector laneSelector = Selector.open();
            ChannelConnections door = new ChannelConnections(id, group, setup, laneSelector, this::failedElsewhere);
            setup.register(door);
            return new TcpChannel(group, door, setup, laneSelector);
        } catch (IOException e) {
            throw new CommException(
                    ErrorCode.SYSTEM, "group " + group.name() + ": cannot open a selector: " + e.getMessage(), e);
        }
    }

    private void failed(CommException cause) {
        group.health().poison(cause);
        tell(cause);
    }

    private void failedElsewhere(CommException cause) {
        group.health().poisonedElsewhere(cause);
        tell(cause);
    }

    private void tell(CommException cause) {
        onFailure.accept(cause);
        healthChanged();
    }
}
