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
 * The thread that opens connections for all channels of a process. The thread accepts and dials, runs the mutual proof
 * of the job secret, and delivers each connection to its channel. The thread also keeps the sockets of closed channels
 * until the peers have closed theirs, because closing a socket with unread bytes destroys bytes that the peer has not
 * read yet.
 *
 * <p>A caller without a valid proof is dropped and reported once per reason, and changes nothing else. The public
 * methods of this class are thread-safe. All other methods are confined to the thread.
 */
final class ConnectionSetup implements AutoCloseable {
    /**
     * Time for a caller's authentication. The time is long, because the caller's process may be stopped or starting.
     */
    static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(10);

    /** The limit of unauthenticated callers: more than the largest burst of a job's own ranks. */
    private static final int MAX_UNAUTHENTICATED = 512;

    /**
     * The limit of accepted callers between two reads, so that a flood of callers cannot push out a caller that has
     * sent its proof.
     */
    private static final int MAX_ACCEPTED = 64;

    /** The limit of dials to one peer. A busy or late peer may drop a connection in the middle of a handshake. */
    private static final int DIAL_ATTEMPTS = 10;

    /** Pause after a failed accept. An accept fails, for example, when the process has no file descriptors left. */
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

    /**
     * The reason why no connection can be opened any more, as the predicate of "rank 3 ..."; null while the thread
     * runs.
     */
    private volatile @Nullable String closedReason;

    private final Map<Long, ChannelConnections> channels = new HashMap<>();
    private final ClosedChannels closedChannels = new ClosedChannels();
    private final UnauthenticatedPeers unauthenticated = new UnauthenticatedPeers(MAX_UNAUTHENTICATED);
    private final List<IncomingHandshake> parked = new ArrayList<>();
    private final Map<OutgoingDial, Integer> attempts = new HashMap<>();
    private final Set<String> reported = new HashSet<>();
    private final ByteBuffer discard = ByteBuffer.allocateDirect(64 * 1024);
    private long acceptAgainNanos = Long.MAX_VALUE;

    /** Work for the thread. If the thread has failed, {@code refused} gets the reason instead. */
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
     * Begins to accept on {@code listener}. The setup owns the listener from now on.
     *
     * @param log receives one line about each kind of refused caller
     * @param handshakeTimeout time after which an unauthenticated caller is dropped
     * @param tls encryption of every connection; absent: plain connections
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

    /** Accepts callers of this channel, including callers that wait already. */
    void register(ChannelConnections connections) {
        submit(
                () -> {
                    channels.put(connections.id(), connections);
                    List<IncomingHandshake> waiting = List.copyOf(parked);
                    parked.clear();
                    waiting.forEach(this::answer);
                },
                connections::markUnreachable);
    }

    /** Closes the channel. Later callers get the answer CLOSED. */
    void unregister(ChannelConnections connections) {
        submit(
                () -> {
                    channels.remove(connections.id(), connections);
                    closedChannels.add(connections.id());
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

    /** Refuses all callers from now on and closes the port. */
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
        String why = closedReason;
        if (why != null && tasks.remove(task)) { // The thread may have removed the task while the thread ended.
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
        // A task stays in the queue until the task is done. If the thread fails in the task, the task is refused.
        for (Task task = tasks.peek(); task != null; task = tasks.peek()) {
            task.body.run();
            tasks.remove(task);
        }
    }

    /** Reports to all channels and dials, now and later, that no connection can be opened. */
    private void failed(Throwable cause) {
        String why = "cannot be connected to: the thread of this rank that opens TCP connections has ended with "
                + cause + ". Open connections still work; remove the cause and start the job again.";
        closedReason = why;
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
        channels.values().forEach(connections -> connections.markUnreachable(why));
        log.accept("the TCP data plane cannot open connections any more: " + cause);
    }

    private void ready(SelectionKey key) {
        if (key.attachment() instanceof Handshake handshake) {
            advance(handshake, key);
        } else if (key.channel() instanceof SocketChannel lingering) {
            drain(lingering);
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
                unauthenticated
                        .surplus()
                        .ifPresent(caller -> refuse(
                                caller,
                                new HandshakeRefusedException("too many callers have not authenticated themselves")));
                long deadline = System.nanoTime() + handshakeTimeout.toNanos();
                IncomingHandshake handshake =
                        new IncomingHandshake(connection(channel, false), world, prover, deadline);
                prepare(channel);
                unauthenticated.add(handshake);
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
        // The kernel adapts buffer sizes to the link. Explicit sizes would turn the adaptation off.
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
            HandshakeRequest request = new HandshakeRequest(
                    dial.purpose(), world.round(), world.rank(), dial.peer().rank(), dial.channel(), prover.nonce());
            OutgoingHandshake handshake = new OutgoingHandshake(connection(channel, true), dial, request, prover);
            channel.register(selector, handshake.interest(), handshake);
        } catch (IOException | IllegalArgumentException e) {
            closeQuietly(channel);
            dial.unreachable("cannot be reached: " + e.getMessage());
        }
    }

    private void advance(Handshake handshake, SelectionKey key) {
        try {
            boolean over = handshake.advance();
            if (handshake instanceof IncomingHandshake incoming
                    && incoming.isAuthenticated()
                    && unauthenticated.remove(incoming)) {
                key.interestOps(0);
                answer(incoming);
                return;
            }
            if (!over) {
                key.interestOps(handshake.interest());
                return;
            }
            // The key stays registered without interests until the channel returns the socket: a cancelled key could
            // not
            // be registered again before the next select has removed the key.
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

    // Called again when a channel is registered, because a caller may arrive before the channel.
    private void answer(IncomingHandshake caller) {
        HandshakeRequest request = caller.request();
        ChannelConnections connections = channels.get(request.channel());
        try {
            if (connections == null) {
                if (!closedChannels.contains(request.channel())) {
                    parked.add(caller);
                    return;
                }
                caller.answer(HandshakeReply.CLOSED, new byte[0]);
            } else {
                answer(caller, connections);
            }
            advance(caller, caller.connection().socket().keyFor(selector));
        } catch (IOException e) {
            refuse(caller, e);
        }
    }

    private static void answer(IncomingHandshake caller, ChannelConnections connections) throws IOException {
        if (caller.request().purpose() == HandshakeRequest.Purpose.NOTICE) {
            FailureNotice theirs = caller.notice();
            connections.failed(theirs);
            CommException known = connections.failure();
            if (known == null || FailureNotice.of(known).equals(theirs)) {
                caller.answer(HandshakeReply.ACCEPTED, new byte[0]);
            } else {
                caller.answer(HandshakeReply.FAILED, FailureNotice.of(known).encode());
            }
            return;
        }
        CommException failure = connections.failure();
        if (failure != null) {
            caller.answer(HandshakeReply.FAILED, FailureNotice.of(failure).encode());
        } else {
            caller.answer(connections.admit(caller.request().from()), new byte[0]);
        }
    }

    private void admitted(IncomingHandshake caller) {
        ChannelConnections connections = channels.get(caller.request().channel());
        if (caller.request().purpose() == HandshakeRequest.Purpose.DATA
                && caller.reply() == HandshakeReply.ACCEPTED
                && connections != null) {
            connections.connected(caller.request().from(), caller.connection());
        } else {
            linger(caller.connection().socket());
        }
    }

    private void answered(OutgoingHandshake call) throws IOException {
        OutgoingDial dial = call.dial();
        attempts.remove(dial);
        if (call.reply() == HandshakeReply.ACCEPTED) {
            dial.connected(call.connection());
            return;
        }
        closeQuietly(call.connection().socket());
        switch (call.reply()) {
            case DUPLICATE -> dial.duplicate();
            case FAILED -> dial.failed(call.reason());
            case CLOSED -> dial.unreachable("has closed the group");
            case ACCEPTED -> throw new IllegalStateException("handled above");
        }
    }

    private void retry(OutgoingHandshake call, IOException cause) {
        // Connected and then dropped: end of stream, or a reset if the peer has not read all bytes.
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
                        ? "does not listen any more: the rank has ended, or has closed its world"
                        : "cannot be reached: " + cause.getMessage());
    }

    private void refuse(IncomingHandshake caller, IOException cause) {
        unauthenticated.remove(caller);
        if (caller.isAuthenticated()) {
            abandon(caller);
        } else {
            String why = cause instanceof SSLException
                    ? "the TLS handshake failed (" + cause.getMessage() + ")"
                    : cause.getMessage();
            report("refused a connection from " + remote(caller.connection().socket()) + ": " + why);
        }
        closeQuietly(caller.connection().socket());
    }

    private void abandon(IncomingHandshake caller) {
        ChannelConnections connections =
                caller.isAuthenticated() ? channels.get(caller.request().channel()) : null;
        if (connections != null
                && caller.reply() == HandshakeReply.ACCEPTED
                && caller.request().purpose() == HandshakeRequest.Purpose.DATA) {
            connections.abandoned(caller.request().from());
        }
    }

    private void report(String line) {
        String kind = line.substring(line.lastIndexOf(": ") + 1);
        if (reported.size() < MAX_REPORTS && reported.add(kind)) {
            log.accept(line + ". The job is not affected; jrun does not report more refusals of this kind.");
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
        Optional<IncomingHandshake> oldest = unauthenticated.oldest();
        if (oldest.isPresent()) {
            until = Math.min(until, oldest.get().deadlineNanos());
        }
        return until == Long.MAX_VALUE ? 0 : Math.max(1, (until - System.nanoTime()) / 1_000_000 + 1);
    }

    private void expire() {
        long now = System.nanoTime();
        for (Optional<IncomingHandshake> oldest = unauthenticated.oldest();
                oldest.isPresent() && oldest.get().deadlineNanos() - now <= 0;
                oldest = unauthenticated.oldest()) {
            refuse(
                    oldest.get(),
                    new HandshakeRefusedException(
                            "the caller did not authenticate itself within " + handshakeTimeout.toMillis() + " ms"));
        }
        if (acceptAgainNanos != Long.MAX_VALUE && acceptAgainNanos - now <= 0) {
            acceptAgainNanos = Long.MAX_VALUE;
            SelectionKey key = listener.keyFor(selector);
            if (key != null) {
                key.interestOps(SelectionKey.OP_ACCEPT);
            }
        }
    }

    private void drain(SocketChannel lingering) {
        try {
            int read = 1;
            while (read > 0) {
                read = lingering.read(discard.clear());
            }
            if (read < 0) {
                lingering.close();
            }
        } catch (IOException _) {
            closeQuietly(lingering);
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
            // A failure to close an abandoned connection has no effect.
        }
    }
}
