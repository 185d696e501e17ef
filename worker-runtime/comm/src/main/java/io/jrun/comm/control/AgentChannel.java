package io.jrun.comm.control;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.control.Frame.Hello;
import io.jrun.comm.control.Frame.PeerTable;
import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRecord;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A worker's connection to its node's agent. An {@link ControlOutbox} sends frames; a daemon thread receives frames.
 * {@link OpenChannels} closes the connection at the exit of the VM, because a thread in native code delays the exit by
 * 300 ms.
 */
public final class AgentChannel implements Control {
    private static final Duration LEAVE_DELAY = Duration.ofMillis(300);
    private static final Duration THREAD_EXIT = Duration.ofMillis(100);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

    /** Metrics are lost after this time. The wait is long only if the agent is stopped or the machine overloaded. */
    private static final Duration METRICS_TIMEOUT = Duration.ofSeconds(5);

    /** The number of heartbeats between two reports of waits. */
    private static final int HEARTBEATS_PER_REPORT = 2;

    /** The longest wait for a location: twice the time an agent waits for a worker that does not answer. */
    private static final Duration LOCATE_TIMEOUT = Duration.ofSeconds(2);

    private final SocketChannel socket;
    private final RoundJoin roundJoin = new RoundJoin();
    private final Map<Long, CompletableFuture<StoreReply>> requests = new ConcurrentHashMap<>();
    private final Map<Long, CompletableFuture<RankRecord>> recordQueries = new ConcurrentHashMap<>();
    private final AtomicLong nextRequest = new AtomicLong();
    private final AtomicBoolean leaveRequested = new AtomicBoolean();
    private final AtomicBoolean left = new AtomicBoolean();
    private volatile boolean closed;
    private final Thread reader;
    private volatile ControlListener listener;
    private volatile ControlListener nextListener;
    private final ControlOutbox outbox;
    private final MetricQueue metrics = new MetricQueue(System::nanoTime);
    private int beats;
    private List<GroupRecord> reported = List.of();

    private AgentChannel(SocketChannel socket, int rank, ControlListener listener) {
        this.socket = socket;
        this.listener = listener;
        this.nextListener = listener;
        this.reader = new RuntimeThread("agent-channel-" + rank, this::readFrames);
        this.outbox = new ControlOutbox(rank, this::write, this::heartbeat, metrics);
    }

    /**
     * Connects and sends {@code hello}.
     *
     * @throws CommException SYSTEM if the agent cannot be reached
     */
    public static AgentChannel connect(Path path, Hello hello, ControlListener listener) {
        try {
            SocketChannel socket = SocketChannel.open(StandardProtocolFamily.UNIX);
            socket.connect(UnixDomainSocketAddress.of(path));
            AgentChannel channel = new AgentChannel(socket, hello.rank(), listener);
            channel.write(FrameCodec.encode(hello)); // The hello must precede any heartbeat.
            channel.reader.start();
            channel.outbox.start();
            OpenChannels.add(channel);
            return channel;
        } catch (IOException e) {
            throw new CommException(
                    ErrorCode.SYSTEM,
                    "rank " + hello.rank() + " cannot reach its agent at " + path + ": " + e.getMessage()
                            + ". The job may have ended.",
                    e);
        }
    }

    /** Notifies the agent that this process can continue in another round. */
    public void becomeElastic() {
        try {
            send(new Frame.Elastic());
        } catch (IOException e) {
            throw new CommException(
                    ErrorCode.SYSTEM, "cannot notify the agent: " + e.getMessage() + ". The job may have ended.", e);
        }
    }

    /**
     * Enters the rendezvous and waits for all ranks.
     *
     * @throws CommException RENDEZVOUS_TIMEOUT; ABORTED if the job stops before all ranks have joined; USAGE if the
     *     agent refuses this process
     */
    public PeerTable join(int tcpPort, Duration timeout) {
        try {
            sendJoin(tcpPort);
            return roundJoin.awaitPeers(timeout);
        } catch (InterruptedException e) {
            throw RoundJoin.interrupted(e);
        }
    }

    /**
     * Reports that this rank has left its round, and waits for the next round.
     *
     * @param why the failure that this rank found; empty if the rank left at a commit
     * @param next listener of all events from the next round on
     * @throws CommException RENDEZVOUS_TIMEOUT; ABORTED if the connection ends before the next round begins
     */
    public Frame.NextRound park(String why, ControlListener next, Duration timeout) {
        nextListener = next;
        try {
            boolean _ = sendMetrics();
            send(new Frame.Parked(why));
            return roundJoin.awaitNext(timeout);
        } catch (IOException e) {
            throw new CommException(
                    ErrorCode.ABORTED, "the connection to this node's agent was lost: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            throw RoundJoin.interrupted(e);
        }
    }

    private void sendJoin(int tcpPort) throws InterruptedException {
        try {
            send(new Frame.Join(tcpPort));
        } catch (IOException e) {
            // The agent may have sent the reason before it closed the connection. The reader then fails the join with
            // that reason.
            reader.join(CLOSE_TIMEOUT);
            roundJoin.fail(e);
        }
    }

    @Override
    public CompletableFuture<StoreReply> submit(StoreCommand command) {
        long id = nextRequest.getAndIncrement();
        CompletableFuture<StoreReply> reply = new CompletableFuture<>();
        byte[] request = FrameCodec.encode(new Frame.StoreRequest(id, command));
        requests.put(id, reply);
        try {
            outbox.add(request);
            if (!reader.isAlive()) {
                throw new EOFException("the connection to the agent has ended");
            }
        } catch (IOException e) {
            requests.remove(id);
            reply.completeExceptionally(e);
        }
        return reply;
    }

    @Override
    public void report(long step, Map<String, Double> values) {
        if (metrics.add(step, values)) {
            outbox.wake();
        }
    }

    @Override
    public void reportPlace(String place) {
        try {
            send(new Frame.MeshPlace(place));
        } catch (IOException e) {
            listener.connectionLost("cannot report the place of this rank: " + e.getMessage());
        }
    }

    /** Sends queued metrics before this rank leaves its round. Returns whether there were any. */
    private boolean sendMetrics() throws IOException {
        List<Frame.Metrics> reports = metrics.takeAll();
        for (Frame.Metrics report : reports) {
            send(report);
        }
        return !reports.isEmpty();
    }

    @Override
    public CompletableFuture<RankRecord> locate(int rank, String group, long sequence) {
        long id = nextRequest.getAndIncrement();
        CompletableFuture<RankRecord> location = new CompletableFuture<>();
        recordQueries.put(id, location);
        try {
            send(new Frame.Locate(id, rank, group, sequence));
        } catch (IOException e) {
            location.completeExceptionally(e);
        }
        RankRecord unknown = RankRecord.unknown(
                rank,
                "is in an unknown place: this node's agent has not answered within " + LOCATE_TIMEOUT.toSeconds()
                        + " s; this agent, or the launcher, may be stopped");
        CompletableFuture<RankRecord> known =
                location.completeOnTimeout(unknown, LOCATE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        return known.whenComplete((_, _) -> recordQueries.remove(id));
    }

    /**
     * Reports the departure after a short delay. If an exception closes the world, the process is about to fail. The
     * other ranks should then receive the failure from the agent, and not fail earlier because a rank has "left".
     */
    @Override
    public void leave() {
        if (leaveRequested.compareAndSet(false, true)) {
            var _ = RuntimeThread.start("agent-channel-leave", () -> {
                long end = System.nanoTime() + LEAVE_DELAY.toNanos();
                for (long left = LEAVE_DELAY.toNanos(); left > 0; left = end - System.nanoTime()) {
                    LockSupport.parkNanos(this, left);
                }
                leaveNow("closed its world");
                close();
            });
        }
    }

    /** Reports the departure at once, unless it was reported already or {@link #suppressLeave} was called. */
    synchronized void leaveNow(String how) {
        if (left.compareAndSet(false, true) && !closed) {
            try {
                boolean hasMetrics = sendMetrics();
                send(new Frame.Leaving(how, listener.waits()));
                outbox.flush(hasMetrics ? METRICS_TIMEOUT : CLOSE_TIMEOUT); // The connection or the process ends next.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (IOException e) {
                // The agent sees the end of this connection and of this process. Both mean the same.
                listener.connectionLost("cannot report the departure of this rank: " + e.getMessage());
            }
        }
    }

    /** Never reports a departure, because the process fails and its agent reports how. */
    void suppressLeave() {
        left.set(true);
    }

    /**
     * Sends the queued metrics and ends the connection. Pending requests fail. A second caller waits for the first, so
     * the exit of the process waits until the metrics are sent.
     */
    synchronized void close() {
        if (closed) {
            return;
        }
        sendRest();
        closed = true;
        OpenChannels.remove(this);
        outbox.close();
        try {
            socket.close();
            if (!Thread.currentThread().equals(reader)) {
                reader.join(THREAD_EXIT);
            }
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "closing the connection to the agent: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void sendRest() {
        try {
            outbox.flush(sendMetrics() ? METRICS_TIMEOUT : THREAD_EXIT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException _) {
            return; // The connection has ended, so the agent can receive nothing more.
        }
    }

    private void send(Frame frame) throws IOException {
        outbox.add(FrameCodec.encode(frame));
    }

    private void write(byte[] frame) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(frame);
        while (bytes.hasRemaining()) {
            socket.write(bytes);
        }
    }

    /** Returns the next heartbeat, with a report of waits if a report is due. Runs on the outbox's thread. */
    private byte[] heartbeat() {
        byte[] alive = FrameCodec.encode(listener.alive());
        beats++;
        List<GroupRecord> waits = beats % HEARTBEATS_PER_REPORT == 0 ? listener.waits() : reported;
        if (waits.equals(reported)) {
            return alive;
        }
        reported = waits;
        byte[] report = FrameCodec.encode(new Frame.Waits(waits));
        byte[] both = Arrays.copyOf(alive, alive.length + report.length);
        System.arraycopy(report, 0, both, alive.length, report.length);
        return both;
    }

    private void readFrames() {
        try (DataInputStream in = new DataInputStream(Channels.newInputStream(socket))) {
            while (true) {
                dispatch(FrameCodec.read(in));
            }
        } catch (IOException e) {
            end(e);
        }
    }

    private void dispatch(Frame frame) throws IOException {
        switch (frame) {
            case PeerTable table -> {
                metrics.setWorldSize(table.peers().size());
                roundJoin.complete(table);
            }
            case StoreReply reply -> {
                CompletableFuture<StoreReply> request = requests.remove(reply.id());
                if (request != null) {
                    request.complete(reply);
                }
            }
            case Frame.RankLeft(int rank, String how) -> listener.rankLeft(rank, how);
            case Frame.Abort(String cause) -> {
                roundJoin.failPeers(new IOException("the job is stopping: " + cause));
                listener.abort(cause);
            }
            case Frame.CheckpointNow() -> listener.checkpointNow();
            case Frame.Regroup(String why) -> listener.regroup(why);
            case Frame.NextRound next -> {
                listener = nextListener;
                endRequests(new IOException("the round of the request is over"));
                roundJoin.open(next);
            }
            case Frame.Location(long id, int rank, Bytes record) -> {
                CompletableFuture<RankRecord> reply = recordQueries.remove(id);
                if (reply != null) {
                    reply.complete(RankRecord.of(rank, record.toArray()));
                }
            }
            case Frame.RecordRequest(long id, String group) -> {
                var _ = RuntimeThread.start("agent-channel-stacks", () -> answer(id, group));
            }
            case Frame.Refused(String reason) -> throw new RoundJoin.RefusedException(reason);
            case Frame.FromWorker _ -> throw new IOException("the agent sent a frame that only workers send");
        }
    }

    private void answer(long id, String group) {
        try {
            send(new Frame.RecordReply(id, Bytes.of(listener.locate(group).encoded())));
        } catch (IOException _) {
            return; // The reading thread sees the same end and reports it.
        }
    }

    private void endRequests(IOException why) {
        requests.values().removeIf(request -> request.completeExceptionally(why) || request.isDone());
    }

    private void end(IOException why) {
        String reason = why instanceof EOFException ? "the agent closed it" : String.valueOf(why.getMessage());
        IOException failure = why instanceof RoundJoin.RefusedException
                ? why
                : new IOException(closed ? "this rank has closed its world" : reason, why);
        roundJoin.fail(failure);
        endRequests(failure);
        recordQueries.values().forEach(reply -> reply.completeExceptionally(failure));
        if (why instanceof RoundJoin.RefusedException) {
            close();
        } else if (!closed) {
            listener.connectionLost(reason);
        }
    }
}
