package io.jrun.agent;

import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.Arrived;
import io.jrun.agent.proto.CheckpointNow;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.HomeGrpc;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.StopAsked;
import io.jrun.agent.proto.StreamFailed;
import io.jrun.agent.proto.ToAgent;
import io.jrun.agent.tls.UnknownPeerException;
import io.jrun.agent.worker.AgentOptions;
import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An agent that dials its launcher, serves one job, and ends with it. It is the same agent as one that listens, in this JVM;
 * here its streams are tied to those of the launcher.
 */
public final class OutboundAgent {
    /** A route that drops packets must not keep an agent from the launcher's next address. */
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(5);

    /** From the TCP connection to Welcome; also how long the launcher may take to hear of an agent's end. */
    private static final Duration ANSWER_LIMIT = Duration.ofSeconds(20);

    private static final Duration PAUSE = Duration.ofMillis(200);

    /** As the launcher waits for output that does not come. */
    private static final Duration CONSOLE_IDLE = Duration.ofSeconds(5);

    private final Call call;
    private final AgentSecret secret;
    private final String version;
    private final Optional<Consumer<LogChunk>> console;
    private final Local agent;
    private volatile @Nullable Visit serving;
    private final AtomicReference<Visit> visit = new AtomicReference<>();
    private volatile boolean givenUp;

    /**
     * Where to, and as whom.
     *
     * @param homes the launcher's addresses, tried in turn
     * @param job which job to join; empty where the secret is for one alone
     * @param node what the launcher calls this node, empty for any place that is free
     * @param address numeric address of the workers' data plane, empty for the one that the launcher sees
     * @param workers of this node, as {@code --nproc-per-node} has it; empty for what the launcher's command says
     * @param timeout how long all addresses are tried again; each is tried once at least
     */
    public record Call(
            List<LauncherAddress> homes, String job, String node, String address, String workers, Duration timeout) {
        public Call {
            homes = List.copyOf(homes);
        }
    }

    /** The agent that comes: one of this JVM. */
    @FunctionalInterface
    public interface Local {
        /** Begins to serve calls to {@code InProcessChannelBuilder.forName(name)}; ends when the result is closed. */
        Closeable listen(String name) throws IOException;
    }

    /** How it went. */
    public sealed interface End {
        /**
         * The job is over, or the launcher is gone: {@code why} is empty for the first.
         *
         * @param exitCode the job's, if the launcher has told
         */
        record Served(String why, OptionalInt exitCode) implements End {}

        /** The job does without this agent, which had served it: a sentence says why. */
        record Dropped(String why) implements End {}

        /** The launcher does not want this agent. */
        record Refused(String why) implements End {}

        /** No address led to the launcher. */
        record NotReached(String why) implements End {}
    }

    /**
     * An agent that has not set out yet.
     *
     * @param console where this process shows its workers' output itself; if empty, the launcher does
     */
    public OutboundAgent(Call call, AgentSecret secret, AgentOptions options, Optional<Consumer<LogChunk>> console) {
        this(call, secret, options.version(), console, name -> AgentServer.inProcess(name, options)::close);
    }

    /** The same for any {@code agent}, of jrun {@code version}. */
    public OutboundAgent(
            Call call, AgentSecret secret, String version, Optional<Consumer<LogChunk>> console, Local agent) {
        this.call = call;
        this.secret = secret;
        this.version = version;
        this.console = console;
        this.agent = agent;
    }

    /** Without a launcher so far, gives up finding one; after the job, gives up showing the rest of its output. From any thread. */
    public void giveUp() {
        givenUp = true;
        Visit current = visit.get();
        if (current != null) {
            current.giveUp();
        }
    }

    /** Tells the launcher, if it is found, that this process got this signal. From any thread. */
    public void tellSignal(int signal) {
        Visit current = visit.get();
        if (current != null) {
            current.events.onNext(FromAgent.newBuilder()
                    .setStopAsked(StopAsked.newBuilder().setSignal(signal))
                    .build());
        }
    }

    /** Asks this node's workers for a checkpoint, if there are any; from any thread. */
    public void checkpointNow() {
        Visit at = serving;
        if (at != null) {
            at.orders.onNext(ToAgent.newBuilder()
                    .setCheckpointNow(CheckpointNow.getDefaultInstance())
                    .build());
        }
    }

    /** Finds the launcher and serves it to the end of the job; its workers are gone when this returns. To be called once. */
    public End serve() throws IOException, InterruptedException {
        long deadline = System.nanoTime() + call.timeout().toNanos();
        SocketTransport transport = SocketTransport.to(secret);
        while (true) {
            StringBuilder problems = new StringBuilder();
            for (LauncherAddress home : call.homes()) {
                ManagedChannel channel = transport.channel(home.host(), home.port(), CONNECT_LIMIT);
                try {
                    Visit arriving = new Visit(home.host(), channel);
                    Status status = arriving.arrive();
                    if (status.isOk()) {
                        visit.set(arriving);
                        return arriving.serve();
                    }
                    if (status.getCode() == Status.Code.FAILED_PRECONDITION) {
                        return new End.Refused(String.valueOf(status.getDescription()));
                    }
                    if (call.homes().size() == 1 && isStranger(status)) {
                        return new End.Refused("the secret of " + home + " is another one; all nodes need the same");
                    }
                    problems.append(problems.isEmpty() ? "" : "; ")
                            .append(home)
                            .append(": ")
                            .append(words(status));
                } finally {
                    channel.shutdownNow();
                }
            }
            if (givenUp || System.nanoTime() - deadline >= 0) {
                return new End.NotReached(problems.toString());
            }
            TimeUnit.MILLISECONDS.sleep(PAUSE.toMillis());
        }
    }

    private static String words(Status status) {
        return isStranger(status) ? "somebody with another secret listens there" : ErrorCauses.first(status);
    }

    private static boolean isStranger(Status status) {
        return ErrorCauses.find(status, UnknownPeerException.class).isPresent();
    }

    /** One connection to one of the launcher's addresses. */
    private final class Visit implements StreamObserver<ToAgent> {
        private final HomeGrpc.HomeStub home;
        private final CompletableFuture<Status> answer = new CompletableFuture<>();
        private final CompletableFuture<Status> over = new CompletableFuture<>();
        private final CompletableFuture<Status> roundsOver = new CompletableFuture<>();
        private final Relay<ToAgent> orders = new Relay<>();
        private final Relay<FromAgent> events = new Relay<>();
        private final Relay<LogChunk> chunks = new Relay<>();
        private volatile String node = call.node();
        private final Optional<ShownHere> shown;
        private volatile OptionalInt exitCode = OptionalInt.empty();
        private volatile String dropped = "";
        private final String address;
        private @Nullable OutboundDoctor doctor;

        /** @param address the launcher's */
        Visit(String address, Channel channel) {
            this.address = address;
            this.home = HomeGrpc.newStub(channel);
            this.shown = console.map(show -> new ShownHere(show, chunks));
        }

        /** Counts only once the rounds are over: before that it is the job that is stopped. */
        void giveUp() {
            if (roundsOver.isDone()) {
                shown.ifPresent(ShownHere::giveUp);
            }
        }

        /** Knocks, and waits for the answer: OK is Welcome. */
        Status arrive() throws InterruptedException {
            events.to(home.control(this));
            events.onNext(FromAgent.newBuilder()
                    .setArrived(Arrived.newBuilder()
                            .setNode(call.node())
                            .setHost(NodeProbe.hostHere())
                            .setJob(call.job())
                            .setJrunVersion(version)
                            .setAddress(call.address())
                            .setWorkers(call.workers()))
                    .build());
            return await(answer, ANSWER_LIMIT)
                    .orElse(Status.DEADLINE_EXCEEDED.withDescription(
                            "no answer within " + ANSWER_LIMIT.toSeconds() + " s"));
        }

        /** Ties the agent to the launcher until either ends. */
        End serve() throws IOException, InterruptedException {
            String name = "jrun-home-" + UUID.randomUUID();
            ManagedChannel channel = InProcessChannelBuilder.forName(name).build();
            try (Closeable _ = agent.listen(name)) {
                AgentGrpc.AgentStub stub = AgentGrpc.newStub(channel);
                tieLogs(stub);
                tieFiles(stub);
                AgentEvents end = new AgentEvents();
                orders.to(stub.control(end));
                CompletableFuture.anyOf(over, end.ended, roundsOver).join();
                if (shown.isPresent() && roundsOver.isDone() && dropped.isEmpty()) {
                    shown.get().awaitShown(CONSOLE_IDLE);
                }
                orders.onCompleted();
                CompletableFuture.anyOf(over, end.ended).join();
                Status status = await(over, ANSWER_LIMIT).orElse(Status.OK);
                if (exitCode.isEmpty() && !dropped.isEmpty()) {
                    return new End.Dropped(dropped);
                }
                return new End.Served(status.isOk() ? "" : words(status), exitCode);
            } finally {
                channel.shutdownNow();
            }
        }

        private void tieLogs(AgentGrpc.AgentStub agent) {
            StreamObserver<LogChunk> toHome = home.logs(
                    new LateStream<>(() -> shown.map(here -> here.open(agent)).orElseGet(() -> agent.logs(chunks))));
            toHome.onNext(LogChunk.newBuilder().setNode(node).build());
            chunks.to(toHome);
        }

        private void tieFiles(AgentGrpc.AgentStub agent) {
            Relay<FileRequest> requests = new Relay<>();
            StreamObserver<FileRequest> toHome = home.files(new LateStream<>(() -> agent.files(requests)));
            toHome.onNext(FileRequest.newBuilder().setNode(node).build());
            requests.to(toHome);
        }

        @Override
        public void onNext(ToAgent message) {
            switch (message.getMessageCase()) {
                case WELCOME -> {
                    node = message.getWelcome().getNode();
                    answer.complete(Status.OK);
                }
                case GIVEN_UP -> {
                    dropped = "the jrun that hosts the job has given this node up: "
                            + message.getGivenUp().getWhy();
                    roundsOver.complete(Status.OK);
                }
                case ROUNDS_OVER -> roundsOver.complete(Status.OK);
                case DOCTOR_QUESTION -> doctor().ask(message.getDoctorQuestion());
                case JOB_ENDED ->
                    exitCode = OptionalInt.of(message.getJobEnded().getExitCode());
                default -> {
                    orders.onNext(message);
                    serving = this; // the job is open, for OpenJob comes first
                }
            }
        }

        /** Few launchers ask. */
        private OutboundDoctor doctor() {
            if (doctor == null) {
                doctor = new OutboundDoctor(
                        address,
                        version,
                        secret,
                        answer -> events.onNext(
                                FromAgent.newBuilder().setDoctorAnswer(answer).build()));
            }
            return doctor;
        }

        @Override
        public void onError(Throwable error) {
            end(Status.fromThrowable(error));
        }

        @Override
        public void onCompleted() {
            end(Status.OK);
        }

        private void end(Status status) {
            answer.complete(status.isOk() ? Status.UNAVAILABLE.withDescription("the launcher has just ended") : status);
            over.complete(status);
        }

        /** What the agent says, and how its stream ends, which a client cannot say by a status. */
        private final class AgentEvents implements StreamObserver<FromAgent> {
            private final CompletableFuture<Status> ended = new CompletableFuture<>();

            @Override
            public void onNext(FromAgent message) {
                events.onNext(message);
            }

            @Override
            public void onError(Throwable error) {
                Status status = Status.fromThrowable(error);
                String description = status.getDescription();
                dropped = "this node's agent failed: " + description;
                events.onNext(FromAgent.newBuilder()
                        .setStreamFailed(StreamFailed.newBuilder()
                                .setStatus(status.getCode().value())
                                .setDescription(description == null ? "" : description))
                        .build());
                onCompleted();
            }

            @Override
            public void onCompleted() {
                events.onCompleted();
                ended.complete(Status.OK);
            }
        }
    }

    private static Optional<Status> await(CompletableFuture<Status> future, Duration limit)
            throws InterruptedException {
        try {
            return Optional.of(future.get(limit.toMillis(), TimeUnit.MILLISECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }
}
