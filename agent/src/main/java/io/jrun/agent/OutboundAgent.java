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
 * An agent that dials its launcher, serves one job, and ends with the job. Its services are those of an agent that
 * listens, see {@link DialingServer}.
 */
public final class OutboundAgent {
    /** A route that drops packets must not keep an agent from the launcher's next address. */
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(5);

    /**
     * From the TLS handshake to the answer of the launcher; also how long the launcher may take to tell the exit code.
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
     * Where to, and as whom.
     *
     * @param homes the launcher's addresses, tried in turn
     * @param job which job to join; empty if the secret is for one job alone
     * @param node what the launcher calls this node, empty for any node that is missing
     * @param address numeric address of the workers' data plane, empty for the one that the launcher sees
     * @param workers of this node, as {@code --nproc-per-node} has it; empty for what the launcher's command says
     * @param timeout how long all addresses are tried again; each is tried once at least
     */
    public record DialSettings(
            List<LauncherAddress> homes, String job, String node, String address, String workers, Duration timeout) {
        public DialSettings {
            homes = List.copyOf(homes);
        }
    }

    /** How it went. */
    public sealed interface End {
        /**
         * The job is over, or the launcher is gone: {@code why} is empty for the first.
         *
         * @param exitCode the job's, if the launcher has told it
         */
        record Served(String why, OptionalInt exitCode) implements End {}

        /** The job does without this agent, which had served the job: a sentence says why. */
        record Dropped(String why) implements End {}

        /** The launcher does not want this agent. */
        record RefusedByLauncher(String why) implements End {}

        /** No address led to the launcher. */
        record NotReached(String why) implements End {}
    }

    /**
     * An agent that has not dialed yet.
     *
     * @param console shows the output of this node's workers in this process; if empty, the launcher shows the output
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

    /** Gives up to search the launcher; after the job, gives up to show the rest of the output. From any thread. */
    public void giveUp() {
        givenUp = true;
        jobs.ifPresent(JobService::giveUpShowing);
    }

    /** Tells the launcher, if it is found, that this process got this signal. From any thread. */
    public void sendSignal(int signal) {
        RegistrationCall current = registration;
        if (current != null) {
            current.sendSignal(signal);
        }
    }

    /** Asks this node's workers for a checkpoint, if there are any. From any thread. */
    public void checkpointNow() {
        jobs.ifPresent(JobService::checkpointNow);
    }

    /**
     * Finds the launcher and serves it to the end of the job. The workers are gone when this returns. To be called
     * once.
     */
    public End serve() throws IOException, InterruptedException {
        RegistrationService registrations = new RegistrationService();
        RefusalLog refusals = RefusalLog.open(_ -> {}); // only the launcher can call, and it has proved who it is
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
            for (LauncherAddress home : call.homes()) {
                RegistrationCall arriving = registrations.expect(who());
                Status status = arrive(server, arriving, home);
                if (status.isOk()) {
                    registration = arriving;
                    return serve(arriving);
                }
                if (status.getCode() == Status.Code.FAILED_PRECONDITION) {
                    return new End.RefusedByLauncher(String.valueOf(status.getDescription()));
                }
                if (call.homes().size() == 1 && isStranger(status)) {
                    return new End.RefusedByLauncher(
                            "the secret of " + home + " is another one; all nodes need the same");
                }
                problems.append(problems.isEmpty() ? "" : "; ")
                        .append(home)
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

    /** Dials an address of the launcher, and waits for the answer: OK is the welcome. */
    private static Status arrive(DialingServer server, RegistrationCall arriving, LauncherAddress home)
            throws InterruptedException {
        CompletableFuture<DialingServer.DialedConnection> dialed = server.dial(home.host(), home.port(), CONNECT_LIMIT);
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
        return isStranger(status) ? "somebody with another secret listens there" : ErrorCauses.first(status);
    }

    private static boolean isStranger(Status status) {
        return ErrorCauses.find(status, UnknownPeerException.class).isPresent();
    }

    /** Serves the launcher until the job has ended here, or the launcher has gone. */
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

    /** Hears how the job ends on this node. */
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
