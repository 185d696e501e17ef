package io.jrun.agent;

import com.google.protobuf.ByteString;
import io.grpc.BindableService;
import io.grpc.Status;
import io.jrun.agent.job.JobListener;
import io.jrun.agent.job.JobService;
import io.jrun.agent.job.LocalAddress;
import io.jrun.agent.job.ServiceOptions;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.proto.AgentArrived;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.tls.UnknownPeerException;
import io.jrun.agent.worker.AgentOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An agent that connects to its launcher, serves one job, and ends with the job. It offers the services of a standing
 * agent, see {@link DialingServer}.
 */
public final class OutboundAgent {
    /** Longest wait for a connection. A route that drops packets must not delay the launcher's next address. */
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(5);

    /**
     * Longest wait for the answer of the launcher after the connection, and for the exit code of the job.
     */
    private static final Duration ANSWER_LIMIT = Duration.ofSeconds(20);

    private static final Duration PAUSE = Duration.ofMillis(200);

    private final DialSettings call;
    private final AgentSecret secret;
    private final String version;
    private final BindableService agent;
    private final Optional<JobService> jobs;
    private final JobFate fate = new JobFate();
    private volatile @Nullable RegistrationCall registration;
    private volatile boolean givenUp;

    /**
     * The addresses of the launcher, and the identity of this node.
     *
     * @param launchers the launcher's addresses, tried in turn
     * @param job name of the job; empty if only one job has the secret
     * @param node the launcher's name for this node; empty to take the slot of any missing node
     * @param address numeric address of the workers' data plane; empty for the address that the launcher sees
     * @param workers value of {@code --nproc-per-node} for this node; empty for the value of the launcher
     * @param timeout for connecting; each address is tried at least once
     */
    public record DialSettings(
            List<LauncherAddress> launchers,
            String job,
            String node,
            String address,
            String workers,
            Duration timeout) {
        public DialSettings {
            launchers = List.copyOf(launchers);
        }
    }

    /** The end of an outbound agent. */
    public sealed interface End {
        /**
         * The job has ended ({@code why} is empty), or the launcher was lost.
         *
         * @param exitCode of the job; empty if the launcher has not sent it
         */
        record Served(String why, OptionalInt exitCode) implements End {}

        /**
         * The launcher has released this node from the running job, or the agent has failed; {@code why} is a sentence.
         */
        record Dropped(String why) implements End {}

        /** The launcher has refused this agent. */
        record RefusedByLauncher(String why) implements End {}

        /** The launcher could not be reached at any address. */
        record NotReached(String why) implements End {}
    }

    /**
     * An agent without a connection; {@link #serve} connects.
     *
     * @param console prints the output of this node's workers in this process; if empty, the launcher prints the output
     */
    public OutboundAgent(
            DialSettings call, AgentSecret secret, AgentOptions options, Optional<Consumer<LogChunk>> console) {
        this.call = call;
        this.secret = secret;
        this.version = options.version();
        JobService service = new JobService(new ServiceOptions(options, call.workers(), console, fate));
        this.agent = service;
        this.jobs = Optional.of(service);
    }

    /** The same with another service as the {@code agent}, of jrun {@code version}. */
    public OutboundAgent(DialSettings call, AgentSecret secret, String version, BindableService agent) {
        this.call = call;
        this.secret = secret;
        this.version = version;
        this.agent = agent;
        this.jobs = Optional.empty();
    }

    /** Ends the attempts to connect; after the job, ends the printing of the remaining output. From any thread. */
    public void giveUp() {
        givenUp = true;
        jobs.ifPresent(JobService::giveUpShowing);
    }

    /** Reports a signal of this process to the launcher, if connected. From any thread. */
    public void sendSignal(int signal) {
        RegistrationCall current = registration;
        if (current != null) {
            current.sendSignal(signal);
        }
    }

    /** Requests a checkpoint from this node's workers, if there are any. From any thread. */
    public void checkpointNow() {
        jobs.ifPresent(JobService::checkpointNow);
    }

    /**
     * Connects to the launcher and serves the job to its end. All workers have ended when this method returns. Called
     * once.
     */
    public End serve() throws IOException, InterruptedException {
        RegistrationService registrations = new RegistrationService();
        RefusalLog refusals = RefusalLog.open(_ -> {}); // only the launcher can call, and it has authenticated
        try (DialingServer server = DialingServer.start(
                secret,
                List.of(agent, registrations, new DoctorService(version, secret, refusals)),
                LocalAddress.fromLauncher(call.address()),
                refusals)) {
            return serve(server, registrations);
        } finally {
            refusals.close();
        }
    }

    private End serve(DialingServer server, RegistrationService registrations) throws InterruptedException {
        long deadline = System.nanoTime() + call.timeout().toNanos();
        while (true) {
            StringBuilder problems = new StringBuilder();
            for (LauncherAddress launcher : call.launchers()) {
                RegistrationCall arriving = registrations.expect(who());
                Status status = arrive(server, arriving, launcher);
                if (status.isOk()) {
                    registration = arriving;
                    return serve(arriving);
                }
                if (status.getCode() == Status.Code.FAILED_PRECONDITION) {
                    return new End.RefusedByLauncher(String.valueOf(status.getDescription()));
                }
                if (call.launchers().size() == 1 && isStranger(status)) {
                    return new End.RefusedByLauncher("the secret of " + launcher
                            + " differs from the secret of this node; all nodes need the same secret");
                }
                problems.append(problems.isEmpty() ? "" : "; ")
                        .append(launcher)
                        .append(": ")
                        .append(words(status));
            }
            if (givenUp || System.nanoTime() - deadline >= 0) {
                return new End.NotReached(problems.toString());
            }
            TimeUnit.MILLISECONDS.sleep(PAUSE.toMillis());
        }
    }

    private AgentArrived who() {
        return AgentArrived.newBuilder()
                .setToken(ByteString.copyFrom(secret.token()))
                .setJrunVersion(version)
                .setNode(call.node())
                .setJob(call.job())
                .setHost(NodeProbe.hostHere())
                .build();
    }

    /** Connects to an address of the launcher, and waits for the answer: OK if the launcher accepts this agent. */
    private static Status arrive(DialingServer server, RegistrationCall arriving, LauncherAddress launcher)
            throws InterruptedException {
        CompletableFuture<DialingServer.DialedConnection> dialed =
                server.dial(launcher.host(), launcher.port(), CONNECT_LIMIT);
        Status status = await(dialed.thenCompose(_ -> arriving.answer()));
        if (!status.isOk()) {
            var _ = dialed.thenAccept(DialingServer.DialedConnection::close);
        }
        return status;
    }

    private static Status await(CompletableFuture<Status> answer) throws InterruptedException {
        try {
            return answer.get(ANSWER_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            return TlsContext.withHandshakeLimit(Status.UNAVAILABLE.withCause(e.getCause()));
        } catch (TimeoutException e) {
            return Status.DEADLINE_EXCEEDED.withDescription("no answer within " + ANSWER_LIMIT.toSeconds() + " s");
        }
    }

    private static String words(Status status) {
        return isStranger(status) ? "the process that listens there has another secret" : ErrorCauses.first(status);
    }

    private static boolean isStranger(Status status) {
        return ErrorCauses.find(status, UnknownPeerException.class).isPresent();
    }

    /** Serves the launcher until the job has ended on this node, or the launcher was lost. */
    private End serve(RegistrationCall current) throws InterruptedException {
        CompletableFuture.anyOf(current.over(), fate.ended).join();
        if (current.over().getNow(Status.CANCELLED).isOk()) {
            jobs.ifPresent(JobService::awaitShown);
        }
        jobs.ifPresent(JobService::close);
        Status status = await(current.over());
        current.complete();
        if (current.exitCode().isEmpty() && !fate.failure.isEmpty()) {
            return new End.Dropped(fate.failure);
        }
        boolean isLost = status.getCode() == Status.Code.UNAVAILABLE;
        return new End.Served(isLost ? words(status) : "", current.exitCode());
    }

    /** Receives the end of the job on this node. */
    private static final class JobFate implements JobListener {
        private final CompletableFuture<Void> ended = new CompletableFuture<>();
        private volatile String failure = "";

        @Override
        public void failed(String why) {
            first("this node's agent failed: " + why);
        }

        @Override
        public void released(String why) {
            first("the launcher of the job has released this node: " + why);
        }

        private synchronized void first(String reason) {
            if (failure.isEmpty()) {
                failure = reason;
            }
        }

        @Override
        public void ended() {
            ended.complete(null);
        }
    }
}
