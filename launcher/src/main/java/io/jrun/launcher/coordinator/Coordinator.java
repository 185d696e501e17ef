package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.JobClaim;
import io.jrun.launcher.console.LogMultiplexer;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventPublisher;
import io.jrun.launcher.files.FileServer;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Layout;
import io.jrun.launcher.layout.LayoutRules;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;

/**
 * Runs one job: passes messages of agents, signals and timers to {@link JobMachine}, and performs the actions that
 * {@link JobMachine} returns. All work runs on the thread that calls {@link #run}; other threads only add messages to
 * the mailbox.
 */
public final class Coordinator {
    /** Longest wait for output of ended workers that agents have not sent yet. */
    private static final Duration DRAIN_IDLE = Duration.ofSeconds(5);

    /** Longest wait for the receipts of a failure broadcast. */
    private static final long RECEIPT_NANOS = 1_000_000_000;

    /** Bounds the delay of store timeouts, and the pauses of this thread that {@link ListenerClock} does not notice. */
    private static final long TICK_NANOS = 100_000_000;

    private final JobSpec job;
    private final CoordinatorOptions options;
    private final LogMultiplexer console;
    private final JobEventPublisher events;
    private final FailureEvents failures;
    private final LongSupplier nanoTime = new ListenerClock(System::nanoTime);
    private final Mailbox mailbox = new Mailbox(Mailbox.MAX_BYTES);
    private final Timers timers = new Timers(nanoTime);
    private final AgentConnections links;
    private final AgentEventReader responses;
    private final WorkerOutput output;
    private final RankTimelines timelines;
    private final RankDepartures rankDepartures;
    private final StandardInput input = new StandardInput(new FileInputStream(FileDescriptor.in));
    private volatile boolean finished;

    /**
     * The options of a coordinator besides the job.
     *
     * @param version of jrun; agents of another version refuse the job
     * @param secret key of the workers' data plane
     * @param files for agents that may lack files of the job; empty for the agent of this process
     */
    public record CoordinatorOptions(String version, ByteString secret, Optional<FileServer> files) {}

    /** A coordinator that prints output on {@code console} and publishes job events to {@code events}. */
    public Coordinator(JobSpec job, CoordinatorOptions options, LogMultiplexer console, JobEventPublisher events) {
        this.job = job;
        this.options = options;
        this.console = console;
        this.events = events;
        this.failures = new FailureEvents(events);
        this.links = new AgentConnections(
                mailbox,
                id -> JobMessages.open(
                        job,
                        options.version(),
                        options.secret(),
                        id,
                        options.files().map(FileServer::files)),
                job.nodes().isElastic()
                        ? Optional.of(
                                new NodeReconnectBackoff(nanoTime, job.nodes().coolDown()))
                        : Optional.empty(),
                new DroppedConnectionRetries(nanoTime, job.nodes().joinTimeout()),
                events::notice);
        this.timelines = new RankTimelines(job.logDirectory().resolve(job.runId()), links);
        this.responses = new AgentEventReader(links, nanoTime, console, events, timelines);
        this.output = new WorkerOutput(console, job.console());
        this.rankDepartures = new RankDepartures(nanoTime, links::sendAll);
    }

    /** Adds a signal of the launcher process; from any thread. */
    public void signal(StopSignal signal) {
        if (finished && signal.endsJob()) {
            console.giveUp();
        }
        mailbox.add(new CoordinatorMessage.LauncherSignal(signal));
    }

    /** Requests the locations of workers; from any thread. The query stays without answer while no worker runs. */
    public void requestLocations(LocationQuery query) {
        mailbox.add(new CoordinatorMessage.LocationRequested(query));
    }

    /**
     * Copies the timelines of ranks on hosts that do not share LOG_DIR into the job's log folder; from any thread.
     * Completed when all have arrived; never completed while no worker runs.
     */
    public CompletableFuture<Void> requestTimelines() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        mailbox.add(new CoordinatorMessage.TimelinesRequested(done));
        return done;
    }

    /**
     * Runs the job on {@code agents}, in this order, until all workers have ended and all output is printed.
     *
     * @param late agents that may connect while the job runs; the start of the job does not wait for these agents
     * @throws io.jrun.launcher.layout.LayoutException if the nodes cannot hold the workers of the job
     */
    public JobOutcome run(List<Agent> agents, List<Agent> late) throws InterruptedException {
        try (links;
                input) {
            job.timeout().ifPresent(time -> timers.start(new CoordinatorInput.JobTimeout(), time.toMillis()));
            agents.forEach(links::call);
            SortedMap<Integer, String> called = links.names();
            late.forEach(links::call);
            return run(called);
        }
    }

    /** Publishes the summary events of the job. Called after {@link #run}, which took {@code seconds}. */
    public void publishEnd(double seconds) {
        responses.publishEnd(seconds);
    }

    private JobOutcome run(SortedMap<Integer, String> called) throws InterruptedException {
        RankAssignment rankAssignment = new RankAssignment(job.nodes(), LayoutRules.of(job), NodeAddresses::forAll);
        JobMachine machine = new JobMachine(rankAssignment, job.stop());
        Transition transition = machine.start(called);
        while (true) {
            failures.publish(transition.state());
            transition.actions().forEach(this::perform);
            if (transition.state() instanceof JobState.Finished(JobProgress _, JobOutcome outcome)) {
                finished = true;
                awaitReceipts();
                console.awaitDrained(DRAIN_IDLE);
                awaitTimelines();
                return outcome.cause().isEmpty() ? outcome : outcome.withBroadcastLatency(responses.failureLatency());
            }
            transition = machine.next(transition.state(), await());
        }
    }

    /** The last worker may have ended before its node sent the receipt of the failure. */
    private void awaitReceipts() throws InterruptedException {
        long end = nanoTime.getAsLong() + RECEIPT_NANOS;
        while (responses.awaitsReceipts()) {
            CoordinatorMessage next = mailbox.poll(end - nanoTime.getAsLong());
            if (next == null) {
                return;
            }
            Optional<CoordinatorInput> _ = event(next); // The machine ignores inputs after its end.
        }
    }

    /** The agents still have the timelines of the last round. */
    private void awaitTimelines() throws InterruptedException {
        try {
            timelines
                    .copy(JobMessages.claim(job, options.secret()))
                    .get(AgentConnection.TIMELINE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // 'jrun trace' names the ranks without a timeline
        }
    }

    /** The next input for the machine. Handles all other messages on the way. */
    private CoordinatorInput await() throws InterruptedException {
        while (true) {
            Optional<CoordinatorInput> due = timers.due();
            if (due.isPresent()) {
                return due.get();
            }
            long timeoutOrder = Math.min(TICK_NANOS, Math.min(timers.nanosLeft(), rankDepartures.nanosLeft()));
            CoordinatorMessage next = mailbox.poll(timeoutOrder);
            rankDepartures.sendDue(links.count());
            responses.tick();
            links.reconnectDue();
            Optional<CoordinatorInput> event = next == null ? Optional.empty() : event(next);
            if (event.isPresent()) {
                return event.get();
            }
        }
    }

    private Optional<CoordinatorInput> event(CoordinatorMessage next) {
        return switch (next) {
            case CoordinatorMessage.AgentResponse(int id, ControlResponse message) -> {
                if (message.hasJobOpened()) {
                    AgentConnection link = links.get(id);
                    JobClaim claim = JobMessages.claim(job, options.secret());
                    output.follow(id, link, claim, message.getJobOpened().getHost());
                    options.files().ifPresent(files -> link.sendFiles(files, claim));
                }
                yield responses.read(id, message);
            }
            case CoordinatorMessage.ControlCallEnded(int id, String why, boolean refused) ->
                Optional.of(gone(id, why, refused));
            case CoordinatorMessage.ConnectionDropped(int id, String why) ->
                links.retryDropped(id) ? Optional.empty() : Optional.of(gone(id, why, false));
            case CoordinatorMessage.ClockMeasured(int id, ClockEstimate.Measurement measurement) -> {
                responses.clockMeasured(id, measurement);
                yield Optional.empty();
            }
            case CoordinatorMessage.LocationRequested(LocationQuery query) -> {
                responses.requestLocations(query);
                yield Optional.empty();
            }
            case CoordinatorMessage.TimelinesRequested(CompletableFuture<Void> done) -> {
                var _ = timelines.copy(JobMessages.claim(job, options.secret())).thenRun(() -> done.complete(null));
                yield Optional.empty();
            }
            case CoordinatorMessage.LauncherSignal(StopSignal signal) ->
                Optional.of(new CoordinatorInput.SignalReceived(signal));
        };
    }

    private CoordinatorInput gone(int id, String why, boolean refused) {
        links.broken(id);
        responses.lost(id, why);
        return new CoordinatorInput.NodeUnavailable(id, links.where(id), why, refused);
    }

    private void perform(CoordinatorAction action) {
        switch (action) {
            case CoordinatorAction.LaunchWorkers(int round, int restartCount, Membership membership) ->
                launch(round, restartCount, membership);
            case CoordinatorAction.SendPeers(int round, List<CoordinatorAction.PeerAddress> peers) -> {
                events.publish(new JobEvent.RoundJoined(round));
                toAll(AgentMessages.peers(round, peers));
            }
            case CoordinatorAction.ReportRankLeft(int round, int rank, String how) -> {
                rankDepartures.add(round, rank, how);
                rankDepartures.sendDue(links.count());
            }
            case CoordinatorAction.RequestRegroup(int round, String why) -> toAll(AgentMessages.regroup(round, why));
            case CoordinatorAction.FailCollectives(int round, String cause) -> {
                responses.abort(round);
                toAll(AgentMessages.abort(round, cause));
            }
            case CoordinatorAction.StopRound(int signal, long graceMillis, boolean spareElastic) ->
                toAll(AgentMessages.stop(signal, graceMillis, spareElastic));
            case CoordinatorAction.RequestCheckpoint(int signal) -> {
                toAll(AgentMessages.signal(signal));
                toAll(AgentMessages.checkpoint());
            }
            case CoordinatorAction.Schedule(CoordinatorInput event, long millis) -> timers.start(event, millis);
            case CoordinatorAction.ReleaseNode(int id, String why) -> links.giveUp(id, why);
            case CoordinatorAction.CoolDownNode(int id, String why) -> links.rest(id, why);
            case CoordinatorAction.PrintNotice(String text) -> events.notice(text);
        }
    }

    private void toAll(ControlRequest message) {
        rankDepartures.sendNow(links.count());
        links.sendAll(message);
    }

    private void launch(int round, int restartCount, Membership membership) {
        if (round == 1) {
            Layout.checkFilters(membership.ranks(), job);
            Layout.countedByGpus(
                            membership.ranks(),
                            nodeRank -> job.isCountedByDefault(membership.ids().get(nodeRank)))
                    .ifPresent(events::notice);
            Layout.sharedDevices(membership.ranks(), job.workers().gpuVisibility())
                    .forEach(events::notice);
            if (job.console().terminals().stderr()) { // advice for people
                Layout.sharedCores(membership.ranks()).forEach(events::notice);
            }
        }
        responses.begin(round, restartCount, membership);
        for (Placement place : membership.ranks().placements()) {
            output.expect(membership.idOf(place.rank()), round, place);
        }
        for (Node node : membership.ranks().nodes()) {
            links.send(
                    membership.ids().get(node.nodeRank()),
                    AgentMessages.launch(
                            JobMessages.launch(job, membership.ranks(), node, round, restartCount, membership.kept())));
        }
        if (round == 1 && !job.workers().stdin().isNone()) {
            sendInput(membership);
        }
    }

    /** Begins to send the standard input to the nodes of the workers that read it. */
    private void sendInput(Membership membership) {
        membership.ranks().placements().stream()
                .map(Placement::rank)
                .filter(job.workers().stdin()::reaches)
                .map(membership::idOf)
                .distinct()
                .forEach(id -> input.add(links.get(id)::openInput, JobMessages.claim(job, options.secret())));
        input.start();
    }
}
