package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.backend.LateRankWarning;
import io.jrun.comm.backend.ProgressThread;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.PeerLinks;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The connections over which one thread at a time runs calls of one group. The waiting thread drives all connections
 * with the selector of the channel. No other thread touches their bytes. Other threads may {@link #wake} the waiting
 * thread. The setup thread delivers connections through {@link ChannelConnections}.
 */
final class TcpChannel implements PeerLinks, AutoCloseable {
    /**
     * The time for which a departed rank may keep its connection open and silent. Its last bytes are only in kernels; a
     * lost packet is sent again after 0.2 and 0.6 s. The end of the process closes the connection, unless another
     * thread keeps the process alive.
     */
    private static final long DEPARTURE_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(800);

    /**
     * The number of polls without data before the thread sleeps, about 20 us. A peer in the same call answers in that
     * time, and a wake-up costs more.
     */
    private static final int SPINS = 32;

    /** A collective that has waited for this time also checks the data of peers it does not wait for. */
    private static final long PEER_CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final GroupContext group;
    private final ChannelConnections connections;
    private final ConnectionSetup setup;
    private final Selector selector;
    private final ByteBuffer expectedHeader = ByteBuffer.allocateDirect(FrameHeader.BYTES);
    private final ByteBuffer headerTemplate = ByteBuffer.allocateDirect(FrameHeader.BYTES);
    private final @Nullable PeerStream[] streams;
    private final List<PeerStream> involved = new ArrayList<>();
    private final LateRankWarning late;
    private final int spins;
    private MemorySegment scratch = MemorySegment.NULL;
    private long waitedNanos;
    private @Nullable PeerStream waitedFor;
    private @Nullable PeerStream departed;
    private long silentSince;
    private long callNumber;
    private long callSequence = -1;
    private @Nullable Call call;
    private @Nullable FrameHeader header;

    TcpChannel(GroupContext group, ChannelConnections connections, ConnectionSetup setup, Selector selector) {
        this.group = group;
        this.connections = connections;
        this.setup = setup;
        this.selector = selector;
        this.streams = new @Nullable PeerStream[group.size()];
        this.late = new LateRankWarning(group);
        this.spins = group.world().hasCoreForEachLocalRank() ? SPINS : 0;
    }

    /**
     * Begins a call. Every transfer until {@link #finish} belongs to the call. Frames are counted over all parts of a
     * program's call, so a frame of another part is out of step.
     */
    void begin(Call newCall, Algorithm algorithm) {
        boolean continuesCall = newCall.isPart()
                && !newCall.kind().isMessage()
                && newCall.asCalled().sequence() == callSequence;
        if (!continuesCall) {
            callNumber++;
        }
        callSequence = newCall.asCalled().sequence();
        call = newCall;
        waitedNanos = 0;
        waitedFor = null;
        departed = null;
        FrameHeader newHeader =
                FrameHeader.of(group.world().round(), connections.id(), newCall.compared(), algorithm, rank());
        header = newHeader;
        newHeader.encode(headerTemplate);
        involved.forEach(PeerStream::leave);
        involved.clear();
    }

    /** Waits for every send of the call, and adds the time of waits for other ranks to the statistics. */
    void finish() {
        for (PeerStream stream : involved) {
            if (stream.hasSends()) {
                await(stream.lastSend());
            }
        }
        PeerStream last = waitedFor;
        if (last != null) {
            group.waits().add(group.members().get(last.peer()).rank(), waitedNanos);
        }
    }

    @Override
    public int rank() {
        return group.groupRank();
    }

    @Override
    public int size() {
        return group.size();
    }

    @Override
    public PeerTransfer send(int peer, MemorySegment data) {
        group.world().pause().reached(currentCall(), "step");
        PeerStream stream = involve(peer);
        TcpTransfer transfer = stream.postSend(data);
        pump(stream);
        return transfer;
    }

    @Override
    public PeerTransfer receive(int peer, MemorySegment into) {
        group.world().pause().reached(currentCall(), "step");
        return involve(peer).postReceive(into);
    }

    @Override
    public void await(PeerTransfer transfer) {
        TcpTransfer awaited = (TcpTransfer) transfer;
        PeerStream stream = awaited.stream();
        int maxSpins = Thread.currentThread() instanceof ProgressThread ? 0 : spins;
        int emptyPolls = 0;
        long sleptFrom = 0;
        while (!awaited.isDone()) {
            checkHealth(stream);
            takeDeliveries();
            if (pump(stream)) {
                emptyPolls = 0;
            } else if (stream.isOpen() && emptyPolls++ < maxSpins) {
                Thread.onSpinWait();
            } else {
                sleptFrom = sleptFrom == 0 ? System.nanoTime() : sleptFrom;
                sleep(stream);
            }
        }
        if (sleptFrom != 0 && awaited.step() == 0) {
            // No data of this peer had arrived before: the peer had not entered the call, or waited for another rank.
            waitedNanos += System.nanoTime() - sleptFrom;
            waitedFor = stream;
        }
    }

    @Override
    public MemorySegment scratch(long bytes) {
        if (scratch.byteSize() < bytes) {
            // The garbage collector frees the old memory: an earlier piece may still be under way to a peer.
            scratch = Arena.ofAuto().allocate(Math.max(bytes, Math.min(2 * scratch.byteSize(), 1 << 24)), 64);
        }
        return scratch;
    }

    /** Waits for the next message of a peer. The receive of the message is posted later. */
    Envelope next(int peer) {
        PeerStream stream = involve(peer);
        await(stream.postHeader());
        try {
            FrameHeader found = stream.header();
            if (!found.kind().isMessage() || found.length() != found.envelope().bytes()) {
                throw new HandshakeRefusedException("a frame that is not a message: " + found.describe());
            }
            return found.envelope();
        } catch (HandshakeRefusedException e) {
            throw lost(peer, reason(e));
        }
    }

    /**
     * Whether at least the header of a peer's next message has arrived. Called between calls of a channel with one
     * peer.
     */
    boolean hasMessage(int peer) {
        PeerStream stream = involve(peer);
        takeDeliveries();
        return peek(stream) != null;
    }

    /** Wakes a waiting thread to check the group's health again. Callable from any thread. */
    void wake() {
        selector.wakeup();
    }

    /**
     * Returns the group ranks of the peers with a connection, or with a connection in the making. Callable from any
     * thread.
     */
    List<Integer> neighbours() {
        return connections.neighbours();
    }

    /** Ends the streams. Sent bytes still arrive. Not callable while a call runs. */
    @Override
    public void close() {
        connections.close();
        List<SocketChannel> channels = new ArrayList<>();
        for (PeerStream stream : streams) {
            Connection connection = stream == null ? null : stream.release();
            if (connection != null) {
                channels.add(connection.socket());
            }
        }
        for (ChannelConnections.Delivery next = connections.take(); next != null; next = connections.take()) {
            channels.add(next.connection().socket());
        }
        try {
            selector.close();
        } catch (IOException _) {
            // The file descriptors are released in any case.
        }
        channels.forEach(setup::linger);
    }

    void encodeHeader(ByteBuffer target, int sender, int step, long length) {
        target.clear().put(headerTemplate.duplicate().clear());
        FrameHeader.encodeFrame(target, sender, step, length);
        target.flip();
    }

    void checkHeader(ByteBuffer received, int peer, int step, long length) throws HandshakeRefusedException {
        encodeHeader(expectedHeader, peer, step, length);
        if (received.flip().mismatch(expectedHeader) >= 0) {
            throw mismatch(FrameHeader.decode(received), peer, step, length);
        }
        received.position(received.limit());
    }

    private CommException mismatch(FrameHeader theirs, int peer, int step, long length) {
        FrameHeader ours = currentHeader();
        String text;
        if (!ours.isSameCall(theirs) && !ours.describe().equals(theirs.describe())) {
            text = group.label() + ": " + group.describe(rank()) + " called "
                    + currentCall().describe() + " but " + group.describe(peer) + " called " + theirs.describe()
                    + ". Every rank must make the same calls in the same order.";
        } else if (ours.algorithm() != theirs.algorithm()) {
            text = where() + group.describe(rank()) + " runs the algorithm "
                    + ours.algorithm().label() + " but " + group.describe(peer) + " runs "
                    + theirs.algorithm().label()
                    + ". Set JRUN_ALGORITHM, JRUN_TUNING and JRUN_DETERMINISTIC alike on every rank.";
        } else if (currentCall().unevenIncoming() != null) {
            text = where() + group.describe(rank()) + " expects a block of " + length + " bytes from "
                    + group.describe(peer) + ", which sends " + theirs.length()
                    + ". The block that one rank sends and the block that the other rank expects must have one size.";
        } else {
            text = where() + group.describe(rank()) + " expected transfer " + step + " of " + length
                    + " bytes but " + group.describe(peer) + " sent transfer " + theirs.step() + " of "
                    + theirs.length() + " bytes in round " + theirs.round()
                    + ". Set JRUN_CONNECTIONS and JRUN_PIECE_BYTES alike on every rank, and run the same version of"
                    + " jrun.";
        }
        return new CommException(ErrorCode.COLLECTIVE_MISMATCH, text + late.locations(currentCall(), wanted()));
    }

    private PeerStream involve(int peer) {
        PeerStream stream = stream(peer);
        if (!stream.isInvolved()) {
            involved.add(stream);
            stream.involve(callNumber);
            takeDeliveries();
            if (!stream.isOpen()) {
                connections.ensureConnection(peer);
            }
        }
        return stream;
    }

    private PeerStream stream(int peer) {
        PeerStream stream = streams[peer];
        if (stream == null) {
            stream = new PeerStream(peer, this);
            streams[peer] = stream;
        }
        return stream;
    }

    private boolean pump(PeerStream stream) {
        try {
            return stream.pump();
        } catch (IOException e) {
            throw lost(stream.peer(), reason(e));
        }
    }

    private void ready(SelectionKey key) {
        PeerStream stream = (PeerStream) key.attachment();
        try {
            stream.ready();
        } catch (IOException e) {
            throw lost(stream.peer(), reason(e));
        }
    }

    private void takeDeliveries() {
        for (ChannelConnections.Delivery next = connections.take(); next != null; next = connections.take()) {
            try {
                PeerStream stream = stream(next.peer());
                Connection connection = next.connection();
                stream.open(connection, connection.socket().register(selector, 0, stream));
            } catch (IOException e) {
                throw lost(next.peer(), reason(e));
            }
        }
    }

    private void checkHealth(PeerStream stream) {
        GroupHealth health = group.health();
        if (health.isImpaired()) {
            health.check();
            String how = health.departure(stream.peer());
            if (how != null && !connections.isConnected(stream.peer())) {
                throw lost(stream.peer(), how);
            }
        }
        String unreachable = connections.unreachableReason(stream.peer());
        if (unreachable != null) {
            throw lost(stream.peer(), unreachable);
        }
    }

    private void sleep(PeerStream stream) {
        long left = currentCall().remainingNanos();
        if (left <= 0) {
            throw timedOut();
        }
        if (late.isTime(currentCall(), left)) {
            late.check(currentCall(), left, awaiting());
        }
        String departure = group.health().departure(stream.peer());
        long wait = departure != null
                ? Math.min(left, graceNanos(stream, departure))
                : late.untilNextNanos(currentCall(), left);
        boolean checksOthers = departure == null && !currentCall().kind().isMessage();
        long pause = checksOthers ? Math.min(wait, PEER_CHECK_NANOS) : wait;
        try {
            int ready = selector.select(this::ready, Math.max(1, Math.ceilDiv(pause, 1_000_000L)));
            if (ready == 0 && checksOthers) {
                checkOtherPeers();
            }
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, where() + "waiting for the network failed: " + e, e);
        }
        if (Thread.currentThread().isInterrupted()) {
            throw new CommException(
                    ErrorCode.ABORTED, where() + "the thread of " + group.describe(rank()) + " was interrupted");
        }
    }

    /** Returns for how much longer a departed peer may be silent, in nanoseconds. */
    private long graceNanos(PeerStream stream, String departure) {
        long now = System.nanoTime();
        if (stream.takeMoved() || !stream.equals(departed)) {
            departed = stream;
            silentSince = now;
        }
        long grace = silentSince + DEPARTURE_GRACE_NANOS - now;
        if (grace <= 0) {
            throw lost(stream.peer(), departure);
        }
        return grace;
    }

    /**
     * Checks unread data of all peers. Ranks that have called different operations may wait for each other in a circle.
     * Their unread frames then contain the calls of all ranks.
     */
    private void checkOtherPeers() {
        FrameHeader ours = currentHeader();
        boolean isPart = currentCall().isPart();
        for (PeerStream stream : streams) {
            FrameHeader theirs = stream == null ? null : peek(stream);
            if (stream != null
                    && theirs != null
                    && theirs.sequence() == ours.sequence()
                    && theirs.round() == ours.round()
                    && !(isPart ? ours.isPartOfSameCall(theirs) : ours.isSameCall(theirs))) {
                throw mismatch(theirs, stream.peer(), theirs.step(), theirs.length());
            }
        }
    }

    private static @Nullable FrameHeader peek(PeerStream stream) {
        try {
            return stream.peek();
        } catch (IOException _) {
            return null; // The thread that waits for this peer reports the failure.
        }
    }

    private CommException lost(int peer, String why) {
        String departure = late.awaitDeparture(peer);
        group.health().check(); // The peer may have left for a cause that another rank has reported.
        return new CommException(
                ErrorCode.PEER_LOST,
                where() + "lost " + group.describe(peer) + ", which "
                        + (departure != null ? departure : why)
                        + ". See that rank's log for the cause." + locations(peer));
    }

    private CommException timedOut() {
        return late.timedOut(currentCall(), awaiting());
    }

    /** Returns the locations of the other ranks, after a call has failed because of {@code peer}. */
    private String locations(int peer) {
        List<Integer> others = new ArrayList<>(wanted());
        others.removeIf(rank -> rank == peer);
        return late.locations(currentCall(), others);
    }

    private LateRankWarning.Awaited awaiting() {
        return new LateRankWarning.Awaited() {
            @Override
            public String description() {
                return awaited();
            }

            @Override
            public List<Integer> ranks() {
                return wanted();
            }
        };
    }

    /**
     * Returns the peer of a message, or all ranks for a collective: an awaited rank may itself wait for another rank.
     */
    private List<Integer> wanted() {
        List<Integer> wanted = new ArrayList<>();
        if (!currentCall().kind().isMessage()) {
            for (int rank = 0; rank < size(); rank++) {
                wanted.add(rank);
            }
        }
        involved.stream()
                .filter(stream -> stream.hasReceives() || stream.hasSends())
                .forEach(stream -> wanted.addFirst(stream.peer()));
        return wanted;
    }

    private String awaited() {
        List<String> awaited = new ArrayList<>();
        for (PeerStream stream : involved) {
            if (stream.hasReceives() || stream.hasSends()) {
                String what =
                        !stream.isOpen() ? "a connection with " : stream.hasReceives() ? "data from " : "room at ";
                String left = group.health().departure(stream.peer());
                awaited.add(what + group.describe(stream.peer()) + (left == null ? "" : ", which " + left));
            }
        }
        return String.join(", ", awaited);
    }

    private String where() {
        return currentCall().describe() + " on " + group.label() + ": ";
    }

    // Returns the predicate of the peer.
    private static String reason(IOException e) {
        String message = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        return switch (e) {
            case EOFException _ -> "closed its connection";
            case HandshakeRefusedException _ -> "sent invalid data (" + message + ")";
            default -> "broke its connection (" + message + ")";
        };
    }

    private Call currentCall() {
        Call current = call;
        if (current == null) {
            throw new IllegalStateException("no call has begun");
        }
        return current;
    }

    private FrameHeader currentHeader() {
        FrameHeader current = header;
        if (current == null) {
            throw new IllegalStateException("no call has begun");
        }
        return current;
    }
}
