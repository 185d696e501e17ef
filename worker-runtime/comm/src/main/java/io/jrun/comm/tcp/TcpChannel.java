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
 * The connections over which one thread at a time runs calls of one group. The thread that waits drives all of them with a
 * selector of the lane's own; no other thread touches their bytes. Other threads may {@link #wake} it, and the setup thread
 * brings connections through {@link ChannelConnections}.
 */
final class TcpChannel implements PeerLinks, AutoCloseable {
    /**
     * How long a rank that is known to have left may keep its connection open and silent. What it sent before is on its way
     * through kernels only, of which a lost packet is sent again after 0.2 and 0.6 s; and its end closes the connection unless
     * another of its threads keeps the process alive.
     */
    private static final long DEPARTURE_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(800);

    /**
     * Fruitless reads before the thread goes to sleep, about 20 us: as long as the answer of a peer that is working on the
     * same call takes to arrive, and less than being woken costs.
     */
    private static final int SPINS = 32;

    /** A collective that has waited for so long looks at what comes from those it does not wait for. */
    private static final long LOOK_AROUND_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final GroupContext group;
    private final ChannelConnections door;
    private final ConnectionSetup setup;
    private final Selector selector;
    private final ByteBuffer expectedHeader = ByteBuffer.allocateDirect(FrameHeader.BYTES);
    private final ByteBuffer headerTemplate = ByteBuffer.allocateDirect(FrameHeader.BYTES);
    private final @Nullable PeerStream[] pairs;
    private final List<PeerStream> involved = new ArrayList<>();
    private final LateRankWarning late;
    private final int spins;
    private MemorySegment scratch = MemorySegment.NULL;
    private long waitedNanos;
    private @Nullable PeerStream waitedFor;
    private @Nullable PeerStream departed;
    private long silentFrom;
    private long callNumber;
    private long callSequence = -1;
    private @Nullable Call call;
    private @Nullable FrameHeader header;

    TcpChannel(GroupContext group, ChannelConnections door, ConnectionSetup setup, Selector selector) {
        this.group = group;
        this.door = door;
        this.setup = setup;
        this.selector = selector;
        this.pairs = new @Nullable PeerStream[group.size()];
        this.late = new LateRankWarning(group);
        this.spins = group.world().hasCoreForEachLocalRank() ? SPINS : 0;
    }

    /**
     * A call begins; every transfer until {@link #finish} belongs to it. Frames are counted over all parts of a program's call: one
     * that comes in the wrong part is out of step.
     */
    void begin(Call newCall, Algorithm algorithm) {
        boolean goesOn = newCall.isPart()
                && !newCall.kind().isMessage()
                && newCall.asCalled().sequence() == callSequence;
        if (!goesOn) {
            callNumber++;
        }
        callSequence = newCall.asCalled().sequence();
        call = newCall;
        waitedNanos = 0;
        waitedFor = null;
        departed = null;
        FrameHeader newHeader = FrameHeader.of(group.world().round(), door.id(), newCall.compared(), algorithm, rank());
        header = newHeader;
        newHeader.encode(headerTemplate);
        involved.forEach(PeerStream::leave);
        involved.clear();
    }

    /** Waits for every send of the call, and counts how long it has waited for others. */
    void finish() {
        for (PeerStream pair : involved) {
            if (pair.hasSends()) {
                await(pair.lastSend());
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
    public Transfer send(int peer, MemorySegment data) {
        group.world().pause().reached(currentCall(), "step");
        PeerStream pair = involve(peer);
        TcpTransfer transfer = pair.postSend(data);
        pump(pair);
        return transfer;
    }

    @Override
    public Transfer receive(int peer, MemorySegment into) {
        group.world().pause().reached(currentCall(), "step");
        return involve(peer).postReceive(into);
    }

    @Override
    public void await(Transfer transfer) {
        TcpTransfer awaited = (TcpTransfer) transfer;
        PeerStream pair = awaited.pair();
        int timeoutOrder = Thread.currentThread() instanceof ProgressThread ? 0 : spins;
        int fruitless = 0;
        long sleptFrom = 0;
        while (!awaited.isDone()) {
            checkHealth(pair);
            takeDeliveries();
            if (pump(pair)) {
                fruitless = 0;
            } else if (pair.isOpen() && fruitless++ < timeoutOrder) {
                Thread.onSpinWait();
            } else {
                sleptFrom = sleptFrom == 0 ? System.nanoTime() : sleptFrom;
                sleep(pair);
            }
        }
        if (sleptFrom != 0 && awaited.step() == 0) {
            // Nothing had come from that rank before: it had not come itself, or waited for another.
            waitedNanos += System.nanoTime() - sleptFrom;
            waitedFor = pair;
        }
    }

    @Override
    public MemorySegment scratch(long bytes) {
        if (scratch.byteSize() < bytes) {
            // Collected when unreachable: an earlier piece may still be on its way to a peer.
            scratch = Arena.ofAuto().allocate(Math.max(bytes, Math.min(2 * scratch.byteSize(), 1 << 24)), 64);
        }
        return scratch;
    }

    /** Waits for the next message of a peer, of which the call's receive has not been posted. */
    Envelope next(int peer) {
        PeerStream pair = involve(peer);
        await(pair.postHeader());
        try {
            FrameHeader found = pair.header();
            if (!found.kind().isMessage() || found.length() != found.envelope().bytes()) {
                throw new HandshakeRefusedException("a frame that is no message: " + found.describe());
            }
            return found.envelope();
        } catch (HandshakeRefusedException e) {
            throw lost(peer, reason(e));
        }
    }

    /** Whether the next message of a peer has come, at least its header. Between calls of a lane of one peer. */
    boolean hasMessage(int peer) {
        PeerStream pair = involve(peer);
        takeDeliveries();
        return peek(pair) != null;
    }

    /** Makes a waiting thread look at the group's health again. Any thread. */
    void wake() {
        selector.wakeup();
    }

    /** Group ranks with which there is, or is about to be, a connection. Any thread. */
    List<Integer> neighbours() {
        return door.neighbours();
    }

    /** Ends the streams; what has been sent still arrives. Not while a call runs. */
    @Override
    public void close() {
        door.close();
        List<SocketChannel> channels = new ArrayList<>();
        for (PeerStream pair : pairs) {
            Connection connection = pair == null ? null : pair.release();
            if (connection != null) {
                channels.add(connection.socket());
            }
        }
        for (ChannelConnections.Delivery next = door.take(); next != null; next = door.take()) {
            channels.add(next.connection().socket());
        }
        try {
            selector.close();
        } catch (IOException _) {
            // Its descriptors are gone either way.
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
            text = "group " + group.name() + ": " + group.describe(rank()) + " called "
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
                    + ". What one rank sends to another and what that expects must agree.";
        } else {
            text = where() + group.describe(rank()) + " expected transfer " + step + " of " + length
                    + " bytes but " + group.describe(peer) + " sent transfer " + theirs.step() + " of "
                    + theirs.length() + " bytes in round " + theirs.round()
                    + ". Set JRUN_CONNECTIONS and JRUN_PIECE_BYTES alike on every rank, and run the same version of"
                    + " jrun.";
        }
        return new CommException(ErrorCode.COLLECTIVE_MISMATCH, text + late.places(currentCall(), wanted()));
    }

    private PeerStream involve(int peer) {
        PeerStream pair = pair(peer);
        if (!pair.isInvolved()) {
            involved.add(pair);
            pair.involve(callNumber);
            takeDeliveries();
            if (!pair.isOpen()) {
                door.ensureConnection(peer);
            }
        }
        return pair;
    }

    private PeerStream pair(int peer) {
        PeerStream pair = pairs[peer];
        if (pair == null) {
            pair = new PeerStream(peer, this);
            pairs[peer] = pair;
        }
        return pair;
    }

    private boolean pump(PeerStream pair) {
        try {
            return pair.pump();
        } catch (IOException e) {
            throw lost(pair.peer(), reason(e));
        }
    }

    private void ready(SelectionKey key) {
        PeerStream pair = (PeerStream) key.attachment();
        try {
            pair.ready();
        } catch (IOException e) {
            throw lost(pair.peer(), reason(e));
        }
    }

    private void takeDeliveries() {
        for (ChannelConnections.Delivery next = door.take(); next != null; next = door.take()) {
            try {
                PeerStream pair = pair(next.peer());
                Connection connection = next.connection();
                pair.open(connection, connection.socket().register(selector, 0, pair));
            } catch (IOException e) {
                throw lost(next.peer(), reason(e));
            }
        }
    }

    private void checkHealth(PeerStream pair) {
        GroupHealth health = group.health();
        if (health.isImpaired()) {
            health.check();
            String how = health.departure(pair.peer());
            if (how != null && !door.isConnected(pair.peer())) {
                throw lost(pair.peer(), how);
            }
        }
        String obstacle = door.obstacle(pair.peer());
        if (obstacle != null) {
            throw lost(pair.peer(), obstacle);
        }
    }

    private void sleep(PeerStream pair) {
        long left = currentCall().remainingNanos();
        if (left <= 0) {
            throw timedOut();
        }
        if (late.isTime(currentCall(), left)) {
            late.look(currentCall(), left, awaiting());
        }
        String departure = group.health().departure(pair.peer());
        long wait = departure != null
                ? Math.min(left, graceNanos(pair, departure))
                : late.untilNextNanos(currentCall(), left);
        boolean looksAround = departure == null && !currentCall().kind().isMessage();
        long turn = looksAround ? Math.min(wait, LOOK_AROUND_NANOS) : wait;
        try {
            int ready = selector.select(this::ready, Math.max(1, Math.ceilDiv(turn, 1_000_000L)));
            if (ready == 0 && looksAround) {
                lookAround();
            }
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, where() + "waiting for the network failed: " + e, e);
        }
        if (Thread.currentThread().isInterrupted()) {
            throw new CommException(
                    ErrorCode.ABORTED, where() + "the thread of " + group.describe(rank()) + " was interrupted");
        }
    }

    /** How much longer a peer that has left may be silent. */
    private long graceNanos(PeerStream pair, String departure) {
        long now = System.nanoTime();
        if (pair.takeMoved() || !pair.equals(departed)) {
            departed = pair;
            silentFrom = now;
        }
        long grace = silentFrom + DEPARTURE_GRACE_NANOS - now;
        if (grace <= 0) {
            throw lost(pair.peer(), departure);
        }
        return grace;
    }

    /**
     * Ranks that have called different things may wait for each other round a circle, each for one that sends to another:
     * what they have sent lies unread, and says what they called.
     */
    private void lookAround() {
        FrameHeader ours = currentHeader();
        boolean isPart = currentCall().isPart();
        for (PeerStream pair : pairs) {
            FrameHeader theirs = pair == null ? null : peek(pair);
            if (pair != null
                    && theirs != null
                    && theirs.sequence() == ours.sequence()
                    && theirs.round() == ours.round()
                    && !(isPart ? ours.isPartOfSameCall(theirs) : ours.isSameCall(theirs))) {
                throw mismatch(theirs, pair.peer(), theirs.step(), theirs.length());
            }
        }
    }

    private static @Nullable FrameHeader peek(PeerStream pair) {
        try {
            return pair.peek();
        } catch (IOException _) {
            return null; // For whoever waits for this peer to tell.
        }
    }

    private CommException lost(int peer, String why) {
        String departure = late.awaitDeparture(peer);
        group.health().check(); // It may have left for a cause that another has told.
        return new CommException(
                ErrorCode.PEER_LOST,
                where() + "lost " + group.describe(peer) + ": it "
                        + (departure != null ? departure : why)
                        + ". See that rank's log for the cause." + places(peer));
    }

    private CommException timedOut() {
        return new CommException(
                ErrorCode.COLLECTIVE_TIMEOUT,
                where() + group.describe(rank()) + " has waited "
                        + currentCall().timeout().toSeconds() + " s for " + awaited()
                        + ". A rank may be slow, stopped or elsewhere in the program: see the logs, or raise the timeout."
                        + late.places(currentCall(), wanted()));
    }

    /** Where the others are, of a call that has failed because of {@code peer}. */
    private String places(int peer) {
        List<Integer> others = new ArrayList<>(wanted());
        others.removeIf(rank -> rank == peer);
        return late.places(currentCall(), others);
    }

    private LateRankWarning.Awaited awaiting() {
        return new LateRankWarning.Awaited() {
            @Override
            public String words() {
                return awaited();
            }

            @Override
            public List<Integer> ranks() {
                return wanted();
            }
        };
    }

    /** For a message the other rank. For a collective all ranks: the awaited rank may itself wait for another rank. */
    private List<Integer> wanted() {
        List<Integer> wanted = new ArrayList<>();
        if (!currentCall().kind().isMessage()) {
            for (int rank = 0; rank < size(); rank++) {
                wanted.add(rank);
            }
        }
        involved.stream()
                .filter(pair -> pair.hasReceives() || pair.hasSends())
                .forEach(pair -> wanted.addFirst(pair.peer()));
        return wanted;
    }

    private String awaited() {
        List<String> awaited = new ArrayList<>();
        for (PeerStream pair : involved) {
            if (pair.hasReceives() || pair.hasSends()) {
                String what = !pair.isOpen() ? "a connection with " : pair.hasReceives() ? "data from " : "room at ";
                String left = group.health().departure(pair.peer());
                awaited.add(what + group.describe(pair.peer()) + (left == null ? "" : ", which " + left));
            }
        }
        return String.join(", ", awaited);
    }

    private String where() {
        return currentCall().describe() + " on group " + group.name() + ": ";
    }

    // Completes "it ...".
    private static String reason(IOException e) {
        String message = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        return switch (e) {
            case EOFException _ -> "closed its connection";
            case HandshakeRefusedException _ -> "sent what no rank sends (" + message + ")";
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
