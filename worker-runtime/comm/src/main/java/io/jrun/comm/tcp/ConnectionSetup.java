package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.RuntimeThread;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * The thread that opens connections for all lanes of a process: it accepts and dials, lets both sides prove that they know
 * the job secret, and hands the channel to its lane. It also keeps the ends of closed lanes until the peers have closed
 * theirs, since closing a socket with unread bytes destroys what the peer has not read yet.
 *
 * <p>Callers that do not prove themselves are dropped, reported once per reason, and change nothing else. Public methods of
 * this class are thread-safe; everything else is confined to its thread.
 */
final class ConnectionSetup implements AutoCloseable {
    /** Time for a caller to prove itself; generous, since the caller's process may be stopped or starting. */
    static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(10);

    /** Unproven callers at one time: more than any burst of a job's own ranks that is not answered. */
    private static final int MAX_UNPROVEN = 512;

    /** Callers accepted at one time: those before them are read in between, so that a flood drops nobody who has spoken. */
    private static final int MAX_ACCEPTED = 64;

    /** A peer that stopped answering in the middle of a handshake may have dropped us for being late, or for others. */
    private static final int DIAL_ATTEMPTS = 10;

    /** Pause after accept failed, as it does when the process is out of file descriptors. */
    private static final long ACCEPT_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final int MAX_REPORTS = 16;
    private static final long CLOSE_MILLIS = 2000;

    private final WorldContext world;
    private final ServerSocketChannel listener;
    private final Selector selector;
    private final SecretProof prover;
    private final Consumer<String> log;
    private final Duration handshakeTimeout;
    private final Optional<Tls> tls;
    private final Thread thread;
    private final ConcurrentLinkedQueue<Task> tasks = new ConcurrentLinkedQueue<>();
    private volatile boolean closing;

    /** Why nothing can be connected any more, completing "rank 3 ..."; null as long as the thread runs. */
    private volatile @Nullable String obstacle;

    private final Map<Long, ChannelConnections> doors = new HashMap<>();
    private final ClosedChannels closedChannels = new ClosedChannels();
    private final UnauthenticatedPeers unproven = new UnauthenticatedPeers(MAX_UNPROVEN);
    private final List<IncomingHandshake> parked = new ArrayList<>();
    private final Map<OutgoingDial, Integer> attempts = new HashMap<>();
    private final Set<String> reported = new HashSet<>();
    private final ByteBuffer discard = ByteBuffer.allocateDirect(64 * 1024);
    private long acceptAgainNanos = Long.MAX_VALUE;

    /** What the thread is to do, and what becomes of it where the thread has failed: then it is told why. */
    private record Task(Runnable body, Consumer<String> refused) {}

    private ConnectionSetup(
            WorldContext world,
            ServerSocketChannel listener,
            Selector selector,
            Consumer<String> log,
            Duration handshakeTimeout,
            Optional<Tls> tls) {
        this.world = world;
        this.listener = listener;
        this.selector = selector;
        this.prover = new SecretProof(world.secret());
        this.log = log;
        this.handshakeTimeout = handshakeTimeout;
        this.tls = tls;
        this.thread = new RuntimeThread("jrun-tcp-setup", this::loop);
    }

    /**
     * Begins to accept on {@code listener}, which this owns from now on.
     *
     * @param log takes one line about each kind of caller that was refused
     * @param handshakeTimeout after which a caller that has not proved itself is dropped
     * @param tls what every connection is inside of; absent: nothing
     */
    static ConnectionSetup start(
            WorldContext world,
            ServerSocketChannel listener,
            Consumer<String> log,
            Duration handshakeTimeout,
            Optional<Tls> tls) {
        try {
            Selector selector = Selector.open();
            listener.configureBlocking(false);
            listener.register(selector, SelectionKey.OP_ACCEPT);
            ConnectionSetup setup = new ConnectionSetup(world, listener, selector, log, handshakeTimeout, tls);
            setup.thread.start();
            return setup;
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot set up the TCP data plane: " + e.getMessage(), e);
        }
    }

    /** Lets callers in that ask for this lane, those who came early included. */
    void register(ChannelConnections door) {
        submit(
                () -> {
                    doors.put(door.id(), door);
                    List<IncomingHandshake> waiting = List.copyOf(parked);
                    parked.clear();
                    waiting.forEach(this::answer);
                },
                door::obstruct);
    }

    /** The lane is closed; later callers are told so. */
    void unregister(ChannelConnections door) {
        submit(
                () -> {
                    doors.remove(door.id(), door);
                    closedChannels.add(door.id());
                },
                _ -> {});
    }

    /** Opens a connection and reports to {@code dial}. */
    void dial(OutgoingDial dial) {
        submit(() -> connect(dial), dial::unreachable);
    }

    /** Ends a connection so that the peer can still read everything that was sent. */
    void linger(SocketChannel channel) {
        submit(
                () -> {
                    try {
                        channel.shutdownOutput();
                        channel.register(selector, SelectionKey.OP_READ, null);
                    } catch (IOException _) {
                        closeQuietly(channel);
                    }
                },
                _ -> closeQuietly(channel));
    }

    /** Refuses everybody from now on and gives the port back. */
    @Override
    public void close() {
        closing = true;
        selector.wakeup();
        try {
            thread.join(CLOSE_MILLIS);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    private void submit(Runnable body, Consumer<String> refused) {
        Task task = new Task(body, refused);
        tasks.add(task);
        selector.wakeup();
        String why = obstacle;
        if (why != null && tasks.remove(task)) { // the thread may have found it while it ended
            refused.accept(why);
        }
    }

    private void loop() {
        try {
            while (!closing) {
                selector.select(this::ready, waitMillis());
                runTasks();
                expire();
            }
            runTasks();
        } catch (IOException | RuntimeException | Error e) {
            failed(e);
        } finally {
            closeAll();
        }
    }

    private void runTasks() {
        // Stays in the queue until it is done, so that it is refused if the thread fails in it.
        for (Task task = tasks.peek(); task != null; task = tasks.peek()) {
            task.body.run();
            tasks.remove(task);
        }
    }

    /** Tells all who wait for a connection, now or later, that there will be none. */
    private void failed(Throwable cause) {
        String why = "cannot be connected to: the thread of this rank that opens TCP connections has ended with "
                + cause + ". Connections that are open still work; mend the cause and start the job again.";
        obstacle = why;
        for (Task task = tasks.poll(); task != null; task = tasks.poll()) {
            task.refused.accept(why);
        }
        for (SelectionKey key : selector.keys()) {
            switch (key.attachment()) {
                case OutgoingHandshake call -> call.dial().unreachable(why);
                case IncomingHandshake caller -> abandon(caller);
                case null, default -> {}
            }
        }
        doors.values().forEach(door -> door.obstruct(why));
        log.accept("the TCP data plane cannot connect any more: " + cause);
    }

    private void ready(SelectionKey key) {
        if (key.attachment() instanceof Handshake handshake) {
            advance(handshake, key);
        } else if (key.channel() instanceof SocketChannel lingeringThreads) {
            drain(lingeringThreads);
        } else {
            accept(key);
        }
    }

    private void accept(SelectionKey key) {
        try {
            for (int accepted = 0; accepted < MAX_ACCEPTED; accepted++) {
                SocketChannel channel = listener.accept();
                if (channel == null) {
                    return;
                }
                unproven.surplus()
                        .ifPresent(caller -> refuse(
                                caller, new HandshakeRefusedException("too many callers have not proved themselves")));
                long deadline = System.nanoTime() + handshakeTimeout.toNanos();
                IncomingHandshake handshake =
                        new IncomingHandshake(connection(channel, false), world, prover, deadline);
                prepare(channel);
                unproven.add(handshake);
                channel.register(selector, handshake.interest(), handshake);
            }
        } catch (IOException e) {
            report("accepting a connection failed: " + e.getMessage());
            key.interestOps(0);
            acceptAgainNanos = System.nanoTime() + ACCEPT_PAUSE_NANOS;
        }
    }

    private static void prepare(SocketChannel channel) throws IOException {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        // Buffer sizes are left to the kernel: it adapts them to the link, which setting them would end.
    }

    private Connection connection(SocketChannel channel, boolean caller) throws IOException {
        return tls.isPresent() ? new TlsConnection(channel, tls.get().engine(caller)) : new PlainConnection(channel);
    }

    private void connect(OutgoingDial dial) {
        SocketChannel channel = null;
        try {
            channel = SocketChannel.open();
            prepare(channel);
            channel.connect(
                    new InetSocketAddress(dial.peer().address(), dial.peer().tcpPort()));
            HandshakeRequest hello = new HandshakeRequest(
                    dial.purpose(), world.round(), world.rank(), dial.peer().rank(), dial.lane(), prover.nonce());
            OutgoingHandshake handshake = new OutgoingHandshake(connection(channel, true), dial, hello, prover);
            channel.register(selector, handshake.interest(), handshake);
        } catch (IOException | IllegalArgumentException e) {
            closeQuietly(channel);
            dial.unreachable("cannot be reached: " + e.getMessage());
        }
    }

    private void advance(Handshake handshake, SelectionKey key) {
        try {
            boolean over = handshake.advance();
            if (handshake instanceof IncomingHandshake incoming && incoming.isProven() && unproven.remove(incoming)) {
                key.interestOps(0);
                answer(incoming);
                return;
            }
            if (!over) {
                key.interestOps(handshake.interest());
                return;
            }
            // The key stays, asleep, for the time when the lane gives the channel back: a cancelled one could not be
            // renewed before the next select has removed it.
            key.interestOps(0);
            key.attach(null);
            switch (handshake) {
                case IncomingHandshake incoming -> admitted(incoming);
                case OutgoingHandshake outgoing -> answered(outgoing);
            }
        } catch (IOException e) {
            switch (handshake) {
                case IncomingHandshake incoming -> refuse(incoming, e);
                case OutgoingHandshake outgoing -> retry(outgoing, e);
            }
        }
    }

    // Asked again when a lane opens: a caller may be there first.
    private void answer(IncomingHandshake caller) {
        HandshakeRequest hello = caller.hello();
        ChannelConnections door = doors.get(hello.lane());
        try {
            if (door == null) {
                if (!closedChannels.contains(hello.lane())) {
                    parked.add(caller);
                    return;
                }
                caller.answer(HandshakeReply.CLOSED, new byte[0]);
            } else {
                answer(caller, door);
            }
            advance(caller, caller.connection().socket().keyFor(selector));
        } catch (IOException e) {
            refuse(caller, e);
        }
    }

    private static void answer(IncomingHandshake caller, ChannelConnections door) throws IOException {
        if (caller.hello().purpose() == HandshakeRequest.Purpose.NOTICE) {
            FailureNotice theirs = caller.notice();
            door.failed(theirs);
            CommException known = door.failure();
            if (known == null || FailureNotice.of(known).equals(theirs)) {
                caller.answer(HandshakeReply.ACCEPTED, new byte[0]);
            } else {
                caller.answer(HandshakeReply.FAILED, FailureNotice.of(known).encode());
            }
            return;
        }
        CommException failure = door.failure();
        if (failure != null) {
            caller.answer(HandshakeReply.FAILED, FailureNotice.of(failure).encode());
        } else {
            caller.answer(door.admit(caller.hello().from()), new byte[0]);
        }
    }

    private void admitted(IncomingHandshake caller) {
        ChannelConnections door = doors.get(caller.hello().lane());
        if (caller.hello().purpose() == HandshakeRequest.Purpose.DATA
                && caller.verdict() == HandshakeReply.ACCEPTED
                && door != null) {
            door.connected(caller.hello().from(), caller.connection());
        } else {
            linger(caller.connection().socket());
        }
    }

    private void answered(OutgoingHandshake call) throws IOException {
        OutgoingDial dial = call.dial();
        attempts.remove(dial);
        if (call.verdict() == HandshakeReply.ACCEPTED) {
            dial.connected(call.connection());
            return;
        }
        closeQuietly(call.connection().socket());
        switch (call.verdict()) {
            case DUPLICATE -> dial.duplicate();
            case FAILED -> dial.failed(call.reason());
            case CLOSED -> dial.unreachable("has closed the group");
            case ACCEPTED -> throw new IllegalStateException("handled above");
        }
    }

    private void retry(OutgoingHandshake call, IOException cause) {
        // Connected and dropped: an end, or a reset where the peer has not read what was sent.
        boolean dropped = call.connection().socket().isConnected()
                && !(cause instanceof HandshakeRefusedException || cause instanceof SSLException);
        closeQuietly(call.connection().socket());
        OutgoingDial dial = call.dial();
        if (dropped && attempts.merge(dial, 1, Integer::sum) < DIAL_ATTEMPTS) {
            connect(dial);
            return;
        }
        attempts.remove(dial);
        boolean gone = cause instanceof ConnectException;
        dial.unreachable(
                gone
                        ? "does not listen any more: it has ended, or closed its world"
                        : "cannot be reached: " + cause.getMessage());
    }

    private void refuse(IncomingHandshake caller, IOException cause) {
        unproven.remove(caller);
        if (caller.isProven()) {
            abandon(caller);
        } else {
            String why =
                    cause instanceof SSLException ? "no TLS with it (" + cause.getMessage() + ")" : cause.getMessage();
            report("refused a connection from " + remote(caller.connection().socket()) + ": " + why);
        }
        closeQuietly(caller.connection().socket());
    }

    private void abandon(IncomingHandshake caller) {
        ChannelConnections door = caller.isProven() ? doors.get(caller.hello().lane()) : null;
        if (door != null
                && caller.verdict() == HandshakeReply.ACCEPTED
                && caller.hello().purpose() == HandshakeRequest.Purpose.DATA) {
            door.abandoned(caller.hello().from());
        }
    }

    private void report(String line) {
        String kind = line.substring(line.lastIndexOf(": ") + 1);
        if (reported.size() < MAX_REPORTS && reported.add(kind)) {
            log.accept(line + ". The job is not affected; more of the same kind are not reported.");
        }
    }

    private static String remote(SocketChannel channel) {
        try {
            return String.valueOf(channel.getRemoteAddress());
        } catch (IOException _) {
            return "an unknown address";
        }
    }

    private long waitMillis() {
        long until = acceptAgainNanos;
        Optional<IncomingHandshake> oldest = unproven.oldest();
        if (oldest.isPresent()) {
            until = Math.min(until, oldest.get().deadlineNanos());
        }
        return until == Long.MAX_VALUE ? 0 : Math.max(1, (until - System.nanoTime()) / 1_000_000 + 1);
    }

    private void expire() {
        long now = System.nanoTime();
        for (Optional<IncomingHandshake> oldest = unproven.oldest();
                oldest.isPresent() && oldest.get().deadlineNanos() - now <= 0;
                oldest = unproven.oldest()) {
            refuse(
                    oldest.get(),
                    new HandshakeRefusedException(
                            "it did not prove itself within " + handshakeTimeout.toMillis() + " ms"));
        }
        if (acceptAgainNanos != Long.MAX_VALUE && acceptAgainNanos - now <= 0) {
            acceptAgainNanos = Long.MAX_VALUE;
            SelectionKey key = listener.keyFor(selector);
            if (key != null) {
                key.interestOps(SelectionKey.OP_ACCEPT);
            }
        }
    }

    private void drain(SocketChannel lingeringThreads) {
        try {
            int read = 1;
            while (read > 0) {
                read = lingeringThreads.read(discard.clear());
            }
            if (read < 0) {
                lingeringThreads.close();
            }
        } catch (IOException _) {
            closeQuietly(lingeringThreads);
        }
    }

    private void closeAll() {
        closeQuietly(listener);
        for (SelectionKey key : selector.keys()) {
            if (key.channel() instanceof SocketChannel channel) {
                if (key.attachment() == null) {
                    drain(channel);
                }
                closeQuietly(channel);
            }
        }
        closeQuietly(selector);
    }

    private static void closeQuietly(@Nullable AutoCloseable resource) {
        try {
            if (resource != null) {
                resource.close();
            }
        } catch (Exception _) {
            // Nothing depends on how a connection that is given up ends.
        }
    }
}
