package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.GroupWait;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.ToAgent;
import io.jrun.agent.proto.WorkerLeaving;
import io.jrun.agent.proto.WorkerStarted;
import io.jrun.launcher.console.LogMux;
import io.jrun.launcher.coordinator.JobAction.Peer;
import io.jrun.launcher.coordinator.JobEvent.Endpoint;
import io.jrun.launcher.coordinator.JobMachine.Transition;
import io.jrun.launcher.files.FileDesk;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Layout;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import io.jrun.launcher.layout.Rules;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Runs one job: carries events from agents, signals and clock to {@link JobMachine} and its decisions back. All of it
 * happens on the thread that calls {@link #run}; other threads only put mail into its box.
 */
public final class Coordinator {
    /** Agents answer in milliseconds; only a machine in deep trouble takes longer. */
    private static final Duration OPEN_DEADLINE = Duration.ofSeconds(60);

    /** How long the console waits for output that agents have not sent although its worker is gone. */
    private static final Duration DRAIN_IDLE = Duration.ofSeconds(5);

    /** Bounds how late a store wait fails, and how long this thread may stand still without {@link ListeningTime}'s notice. */
    private static final long TICK_NANOS = 100_000_000;

    private final JobSpec job;
    private final CoordinatorOptions options;
    private final LogMux console;
    private final Consumer<String> say;
    private final LongSupplier nanoTime = new ListeningTime(System::nanoTime);
    private final BlockingQueue<Mail> mailbox = new LinkedBlockingQueue<>();
    private final Timers timers = new Timers(nanoTime);
    private final JobStore store = new JobStore(nanoTime);
    private final Telling telling = new Telling(nanoTime);
    private final Heartbeats heartbeats = Heartbeats.start();
    private final Map<Integer, List<GroupWait>> waits = new TreeMap<>();
    private final List<AgentLink> links = new ArrayList<>();
    private final Inquiries inquiries = new Inquiries();
    private volatile boolean finished;

    /**
     * What a coordinator works with besides the job.
     *
     * @param version agents of another one refuse the job
     * @param secret key of the workers' data plane
     * @param files for agents that may lack some; empty for the agent of this process
     * @param watch is told how the job goes
     */
    public record CoordinatorOptions(String version, ByteString secret, Optional<FileDesk> files, JobWatch watch) {}

    /** A coordinator that shows output on {@code console} and says its own sentences to {@code say}. */
    public Coordinator(JobSpec job, CoordinatorOptions options, LogMux console, Consumer<String> say) {
        this.job = job;
        this.options = options;
        this.console = console;
        this.say = say;
    }

    /** Hands over a signal; from any thread. */
    public void signal(StopSignal signal) {
        if (finished && signal.endsJob()) {
            console.giveUp();
        }
        mailbox.add(new Mail.SignalMail(signal));
    }

    /** Asks workers where they are; from any thread. The inquiry stays unanswered while none run. */
    public void ask(Inquiry inquiry) {
        mailbox.add(new Mail.Asked(inquiry));
    }

    /**
     * Runs the job on {@code agents}, by node rank, until every worker is gone and all output is shown.
     *
     * @throws io.jrun.launcher.layout.LayoutException if the nodes cannot hold it
     */
    public Outcome run(List<Agent> agents) throws InterruptedException {
        try {
            job.timeout().ifPresent(time -> timers.start(new JobEvent.TimeIsUp(), time.toMillis()));
            return switch (open(agents)) {
                case Opening.Failed(StopCause cause) -> new Outcome(Optional.of(cause), List.of(), 0);
                case Opening.Opened(List<Node> nodes) -> runOn(nodes);
            };
        } finally {
            heartbeats.close();
            links.forEach(AgentLink::close);
        }
    }

    /** How long the workers of the last round have waited for each other, as those tell that did not fail. After the run. */
    public List<Straggler> stragglers(double seconds) {
        return Straggler.of(waits, seconds);
    }

    /** How opening the agents went. */
    private sealed interface Opening {
        record Opened(List<Node> nodes) implements Opening {}

        record Failed(StopCause cause) implements Opening {}
    }

    private Opening open(List<Agent> agents) throws InterruptedException {
        Node[] nodes = new Node[agents.size()];
        for (int nodeRank = 0; nodeRank < agents.size(); nodeRank++) {
            AgentLink link = AgentLink.open(nodeRank, agents.get(nodeRank).channel(), mailbox::add);
            links.add(link);
            link.send(Messages.open(
                    job,
                    options.version(),
                    options.secret(),
                    nodeRank,
                    options.files().map(FileDesk::files)));
        }
        long deadline = nanoTime.getAsLong() + OPEN_DEADLINE.toNanos();
        int opened = 0;
        while (opened < nodes.length) {
            Mail mail = mailbox.poll(TICK_NANOS, TimeUnit.NANOSECONDS);
            switch (mail) {
                case null -> {
                    if (timers.due().isPresent()) {
                        return new Opening.Failed(new StopCause.TimedOut()); // the only timer so far
                    }
                    if (nanoTime.getAsLong() - deadline >= 0) {
                        return silent(agents, nodes);
                    }
                }
                case Mail.FromNode(int nodeRank, FromAgent message) -> {
                    if (message.hasJobOpened()) {
                        nodes[nodeRank] = Messages.node(nodeRank, message.getJobOpened());
                        opened++;
                        if (!agents.get(nodeRank).where().isEmpty()) {
                            heartbeats.watch(links.get(nodeRank));
                        }
                        options.files().ifPresent(desk -> links.get(nodeRank).sendFiles(desk, job.runId()));
                    } else if (message.hasNotice()) {
                        say.accept(message.getNotice().getText());
                    }
                }
                case Mail.NodeBroken(int nodeRank, String why, boolean refused) -> {
                    return notOpened(agents.get(nodeRank).where(), why, refused);
                }
                case Mail.SignalMail(StopSignal signal) -> {
                    if (signal.endsJob()) {
                        return new Opening.Failed(new StopCause.Signalled(signal));
                    }
                }
                case Mail.Asked(Inquiry inquiry) -> inquiry.begin(List.of());
            }
        }
        return new Opening.Opened(NodeAddresses.forAll(List.of(nodes)));
    }

    private static Opening notOpened(String where, String why, boolean refused) {
        String who =
                where.isEmpty() ? "" : "the agent at " + where + (refused ? " refuses it: " : " cannot be reached: ");
        return new Opening.Failed(new StopCause.NotOpened(who + why, refused));
    }

    private static Opening silent(List<Agent> agents, Node[] nodes) {
        List<String> missing = IntStream.range(0, nodes.length)
                .filter(nodeRank -> nodes[nodeRank] == null)
                .mapToObj(nodeRank -> agents.get(nodeRank).where())
                .toList();
        String first = missing.getFirst() + (missing.size() > 1 ? " and " + (missing.size() - 1) + " more" : "");
        return notOpened(first, "no answer within " + OPEN_DEADLINE.toSeconds() + " s", false);
    }

    private Outcome runOn(List<Node> nodes) throws InterruptedException {
        RankMap ranks = Layout.place(nodes, Rules.of(job));
        Layout.sharedDevices(ranks, job.workers().gpuVisibility()).forEach(say);
        for (Node node : nodes) {
            Set<Integer> here =
                    ranks.onNode(node.nodeRank()).stream().map(Placement::rank).collect(Collectors.toSet());
            links.get(node.nodeRank())
                    .readLogs(job.runId(), chunk -> show(chunk, node.host()), () -> console.forget(here));
        }
        JobMachine machine = new JobMachine(ranks, job.stop());
        Transition transition = machine.start();
        while (true) {
            for (JobAction action : transition.actions()) {
                perform(action, ranks);
            }
            if (transition.state() instanceof JobState.Finished(Outcome outcome)) {
                finished = true;
                console.awaitDrained(DRAIN_IDLE);
                return outcome.withTold(telling.told());
            }
            transition = machine.next(transition.state(), await(ranks));
        }
    }

    private void show(LogChunk chunk, String host) {
        LogMux.Source source = new LogMux.Source(chunk.getRound(), chunk.getRank(), chunk.getStderr());
        console.show(source, host, chunk.getData().toByteArray(), chunk.getLast());
    }

    /** The next event for the machine; mail that is not for it is dealt with on the way. */
    private JobEvent await(RankMap ranks) throws InterruptedException {
        while (true) {
            Optional<JobEvent> due = timers.due();
            if (due.isPresent()) {
                return due.get();
            }
            Mail mail = mailbox.poll(Math.min(TICK_NANOS, timers.nanosLeft()), TimeUnit.NANOSECONDS);
            store.expire();
            Optional<JobEvent> event = switch (mail) {
                case null -> Optional.empty();
                case Mail.FromNode(int nodeRank, FromAgent message) -> event(nodeRank, message, ranks);
                case Mail.NodeBroken(int nodeRank, String why, boolean _) ->
                    Optional.of(new JobEvent.NodeGone(nodeRank, why));
                case Mail.SignalMail(StopSignal signal) -> Optional.of(new JobEvent.SignalCame(signal));
                case Mail.Asked(Inquiry inquiry) -> {
                    inquiries.begin(
                            inquiry,
                            ranks,
                            (nodeRank, question) -> links.get(nodeRank).send(question));
                    yield Optional.empty();
                }
            };
            if (event.isPresent()) {
                return event.get();
            }
        }
    }

    private Optional<JobEvent> event(int nodeRank, FromAgent message, RankMap ranks) {
        return switch (message.getMessageCase()) {
            case WORKER_STARTED -> Optional.of(started(message.getWorkerStarted()));
            case JOINED -> Optional.of(joined(nodeRank, message));
            case WORKER_LEAVING -> Optional.of(leaving(message.getWorkerLeaving()));
            case WORKER_HUNG ->
                Optional.of(new JobEvent.WorkerHung(
                        message.getWorkerHung().getRank(),
                        message.getWorkerHung().getRound(),
                        message.getWorkerHung().getPid(),
                        message.getWorkerHung().getWhy()));
            case ABORT_HEARD -> {
                telling.heard(
                        message.getAbortHeard().getRound(),
                        ranks.nodes().get(nodeRank).host());
                yield Optional.empty();
            }
            case WORKER_EXITED -> Optional.of(ended(message, ranks));
            case STORE_REQUEST -> {
                store.submit(message.getStoreRequest(), links.get(nodeRank)::send);
                yield Optional.empty();
            }
            case LOCATE -> {
                toNodeOf(message.getLocate().getRank(), Messages.locate(message.getLocate()), ranks);
                yield Optional.empty();
            }
            case LOCATION -> {
                if (!inquiries.take(message.getLocation())) {
                    toNodeOf(message.getLocation().getAsker(), Messages.location(message.getLocation()), ranks);
                }
                yield Optional.empty();
            }
            case NOTICE -> {
                say.accept(message.getNotice().getText());
                yield Optional.empty();
            }
            case WORKER_ELASTIC, WORKER_PARKED, JOB_OPENED, ARRIVED, STREAM_FAILED, PONG, MESSAGE_NOT_SET ->
                Optional.empty();
        };
    }

    private JobEvent started(WorkerStarted started) {
        options.watch().started(started.getRank(), started.getPid());
        return new JobEvent.WorkerStarted(started.getRank(), started.getPid());
    }

    private JobEvent leaving(WorkerLeaving leaving) {
        waits.put(leaving.getRank(), leaving.getWaitsList());
        return new JobEvent.WorkerLeaving(leaving.getRank(), leaving.getRound(), leaving.getHow());
    }

    private void toNodeOf(int rank, ToAgent message, RankMap ranks) {
        if (rank < ranks.worldSize()) {
            links.get(ranks.placement(rank).nodeRank()).send(message);
        }
    }

    private static JobEvent joined(int nodeRank, FromAgent message) {
        List<Endpoint> endpoints = message.getJoined().getEndpointsList().stream()
                .map(endpoint -> new Endpoint(endpoint.getRank(), endpoint.getTcpPort(), endpoint.getPid()))
                .toList();
        return new JobEvent.NodeJoined(nodeRank, message.getJoined().getRound(), endpoints);
    }

    private JobEvent ended(FromAgent message, RankMap ranks) {
        int rank = message.getWorkerExited().getRank();
        int round = message.getWorkerExited().getRound();
        WorkerEnd end = Messages.end(message.getWorkerExited(), ranks.placement(rank));
        if (!end.startError().isEmpty()) {
            console.forget(round, rank);
        }
        options.watch().ended(end);
        return new JobEvent.WorkerEnded(round, end);
    }

    private void perform(JobAction action, RankMap ranks) {
        switch (action) {
            case JobAction.Launch(int round, int restartCount) -> launch(round, restartCount, ranks);
            case JobAction.SendPeers(int round, List<Peer> peers) ->
                links.forEach(link -> link.send(Messages.peers(round, peers)));
            case JobAction.TellRankLeft(int round, int rank, String how) ->
                links.forEach(link -> link.send(Messages.rankLeft(round, rank, how)));
            case JobAction.Abort(int round, String cause) -> {
                telling.begin(
                        round,
                        ranks.nodes().stream()
                                .filter(node -> links.get(node.nodeRank()).isOpen())
                                .map(Node::host)
                                .toList());
                links.forEach(link -> link.send(Messages.abort(round, cause)));
            }
            case JobAction.Stop(int signal, long graceMillis) ->
                links.forEach(link -> link.send(Messages.stop(signal, graceMillis)));
            case JobAction.Checkpoint(int signal) ->
                links.forEach(link -> {
                    link.send(Messages.signal(signal));
                    link.send(Messages.checkpoint());
                });
            case JobAction.WatchStop(int round, long millis) -> timers.start(new JobEvent.GraceIsOver(round), millis);
            case JobAction.Say(String text) -> say.accept(text);
            case JobAction.Finish _ -> {
                // the loop sees the state
            }
        }
    }

    private void launch(int round, int restartCount, RankMap ranks) {
        store.startRound(round);
        inquiries.startRound(round);
        options.watch().launched(restartCount, ranks);
        waits.clear();
        ranks.placements().forEach(place -> {
            if (job.console().showsStdout(place.rank(), place.localRank())) {
                console.expect(new LogMux.Source(round, place.rank(), false));
            }
            if (job.console().showsStderr(place.rank(), place.localRank())) {
                console.expect(new LogMux.Source(round, place.rank(), true));
            }
        });
        for (Node node : ranks.nodes()) {
            links.get(node.nodeRank()).send(Messages.launch(Messages.launch(job, ranks, node, round, restartCount)));
        }
    }
}
