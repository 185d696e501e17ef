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
 * The TCP data plane of one group: channels for its collectives, and one channel for each direction of messages with
 * each peer. When the group fails, separate connections carry the cause to the other ranks, because the streams
 * themselves may be full or stuck in the middle of a frame.
 */
final class TcpBackend implements Backend {
    private static final long ALIGNMENT = 64;

    /** The key of a message channel: the peer and the direction. */
    private record Direction(int peer, OpKind kind) {}

    private final GroupContext group;
    private final ConnectionSetup setup;
    private final Arena arena = Arena.ofShared();
    private final PausePoint pause;
    private final Stripes collectives;
    private final Consumer<CommException> onFailure;
    private final Set<Integer> alwaysNotified;
    private final ConcurrentHashMap<Direction, TcpChannel> messages = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable FailureGossip> failureGossip = new AtomicReference<>();

    private TcpBackend(
            GroupContext group,
            ConnectionSetup setup,
            TcpOptions options,
            Consumer<CommException> onFailure,
            Set<Integer> alwaysNotified) {
        this.onFailure = onFailure;
        this.alwaysNotified = Set.copyOf(alwaysNotified);
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
            Set<Integer> alwaysNotified) {
        return new TcpBackend(group, setup, options, onFailure, alwaysNotified);
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
        TcpChannel channel = messages(call.root(), call.kind());
        channel.begin(call, Algorithm.DIRECT);
        MemorySegment buffer = call.input().asSlice(0, call.bytes());
        channel.await(
                call.kind() == OpKind.SEND ? channel.send(call.root(), buffer) : channel.receive(call.root(), buffer));
        pause.reached(call, "exit");
    }

    @Override
    public void send(Call call) {
        run(call);
    }

    @Override
    public Envelope next(Call receive) {
        try {
            TcpChannel channel = messages(receive.root(), OpKind.RECV);
            channel.begin(receive, Algorithm.DIRECT);
            return channel.next(receive.root());
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

    @Override
    public String algorithm(Call call) {
        return collectives.algorithm(call);
    }

    /** Waits until all ranks have exchanged their causes. Afterwards this rank knows every cause. */
    @Override
    public CommException settle(CommException failure) {
        failed(failure);
        awaitGossip();
        return group.health().settle();
    }

    @Override
    public void healthChanged() {
        collectives.wake();
        messages.values().forEach(TcpChannel::wake);
        CommException cause = group.health().cause();
        if (cause != null && failureGossip.get() == null) {
            FailureGossip started =
                    new FailureGossip(group, ChannelId.ofCollectives(group), neighbours(), this::failedElsewhere);
            if (failureGossip.compareAndSet(null, started)) {
                started.start(setup);
            }
        }
    }

    @Override
    public void close() {
        awaitGossip();
        messages.values().forEach(TcpChannel::close);
        collectives.close();
        arena.close();
    }

    // A failing rank often ends its process at once. Its peers should receive the cause instead of a broken connection.
    private void awaitGossip() {
        FailureGossip gossip = failureGossip.get();
        if (gossip != null) {
            gossip.await();
        }
    }

    private Set<Integer> neighbours() {
        Set<Integer> result = FailureGossip.recipients(group.groupRank(), group.size());
        result.addAll(alwaysNotified);
        result.addAll(collectives.neighbours());
        messages.values().forEach(channel -> result.addAll(channel.neighbours()));
        return result;
    }

    private Stripes openStripes(TcpOptions options) {
        AlgorithmSelector selector = group.algorithm().isEmpty()
                ? options.selector()
                : options.selector().forcing(group.algorithm());
        List<Stripe> stripes = new ArrayList<>();
        for (int index = 0; index < options.connections(); index++) {
            TcpChannel channel = openChannel(ChannelId.ofCollectives(group, index));
            stripes.add(new Stripe(group, selector, channel, arena, pause));
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
        return openChannel(ChannelId.ofMessages(group, sender, receiver));
    }

    private TcpChannel openChannel(long id) {
        try {
            Selector channelSelector = Selector.open();
            ChannelConnections connections =
                    new ChannelConnections(id, group, setup, channelSelector, this::failedElsewhere);
            setup.register(connections);
            return new TcpChannel(group, connections, setup, channelSelector);
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, group.label() + ": cannot open a selector: " + e.getMessage(), e);
        }
    }

    private void failed(CommException cause) {
        group.health().poison(cause);
        report(cause);
    }

    private void failedElsewhere(CommException cause) {
        group.health().poisonedElsewhere(cause);
        report(cause);
    }

    private void report(CommException cause) {
        onFailure.accept(cause);
        healthChanged();
    }
}
