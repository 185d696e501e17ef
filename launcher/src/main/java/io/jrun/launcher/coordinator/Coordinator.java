package io.jrun.launcher.coordinator;

import com.google.protobuf.ByteString;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.ToAgent;
import io.jrun.launcher.console.LogMux;
import io.jrun.launcher.files.FileDesk;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.layout.Layout;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.Rules;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Runs one job: carries events from agents, signals and clock to {@link JobMachine} and its decisions back. All of it
 * happens on the thread that calls {@link #run}; other threads only put mail into its box.
 */
public final class Coordinator {
    /** How long the console waits for output that agents have not sent although its worker is gone. */
    private static final Duration DRAIN_IDLE = Duration.ofSeconds(5);

    /** Within which every node that is there is to have heard of a failure. */
    private static final long RECEIPT_NANOS = 1_000_000_000;

    /** Bounds how late a store wait fails, and how long this thread may stand still without {@link ListeningTime}'s notice. */
    private static final long TICK_NANOS = 100_000_000;

    private final JobSpec job;
    private final CoordinatorOptions options;
    private final LogMux console;
    private final Consumer<String> say;
    private final LongSupplier nanoTime = new ListeningTime(System::nanoTime);
    private final Mailbox mailbox = new Mailbox(Mailbox.MAX_BYTES);
    private final Timers timers = new Timers(nanoTime);
    private final Links links;
    private final News news;
    private final Output output;
    private final Departures departures;
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
        this.links = new Links(
                mailbox,
                id -> Messages.open(
                        job,
                        options.version(),
                        options.secret(),
                        id,
                        options.files().map(FileDesk::files)),
                job.nodes().isElastic()
                        ? Optional.of(new Recalls(nanoTime, job.nodes().coolDown()))
                        : Optional.empty(),
                new Redials(nanoTime, job.nodes().joinTimeout()),
                say);
        this.news = new News(links, nanoTime, console, say, options.watch());
        this.output = new Output(console, job.console());
        this.departures = new Departures(nanoTime, links::sendAll);
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
     * Runs the job on {@code agents}, in this order, until every worker is gone and all output is shown.
     *
     * @param late agents that may come while the job runs, and are not waited for
     * @throws io.jrun.launcher.layout.LayoutException if the nodes cannot hold it
     */
    public Outcome run(List<Agent> agents, List<Agent> late) throws InterruptedException {
        try (links) {
            job.timeout().ifPresent(time -> timers.start(new JobEvent.TimeIsUp(), time.toMillis()));
            agents.forEach(links::call);
            SortedMap<Integer, String> called = links.names();
            late.forEach(links::call);
            return run(called);
        }
    }

    /** Who was late in the last round, by what all have told of their waits; after the run, which took so many seconds. */
    public List<Straggler> stragglers(double seconds) {
        return news.stragglers(seconds);
    }

    private Outcome run(SortedMap<Integer, String> called) throws InterruptedException {
        Succession succession = new Succession(job.nodes(), Rules.of(job), NodeAddresses::forAll);
        JobMachine machine = new JobMachine(succession, job.stop());
        Transition transition = machine.start(called);
        while (true) {
            transition.actions().forEach(this::perform);
            if (transition.state() instanceof JobState.Finished(Ledger _, Outcome outcome)) {
                finished = true;
                awaitReceipts();
                console.awaitDrained(DRAIN_IDLE);
                return outcome.cause().isEmpty() ? outcome : outcome.withTold(news.told());
            }
            transition = machine.next(transition.state(), await());
        }
    }

    /** The last worker may have ended before its node could say that it knows of the failure. */
    private void awaitReceipts() throws InterruptedException {
        long end = nanoTime.getAsLong() + RECEIPT_NANOS;
        while (news.awaitsReceipts()) {
            Mail mail = mailbox.poll(end - nanoTime.getAsLong());
            if (mail == null) {
                return;
            }
            Optional<JobEvent> _ = event(mail); // The machine has ended.
        }
    }

    /** The next event for the machine; mail that is not for it is dealt with on the way. */
    private JobEvent await() throws InterruptedException {
        while (true) {
            Optional<JobEvent> due = timers.due();
            if (due.isPresent()) {
                return due.get();
            }
            long patience = Math.min(TICK_NANOS, Math.min(timers.nanosLeft(), departures.nanosLeft()));
            Mail mail = mailbox.poll(patience);
            departures.tell(links.count());
            news.tick();
            links.recall();
            Optional<JobEvent> event = mail == null ? Optional.empty() : event(mail);
            if (event.isPresent()) {
                return event.get();
            }
        }
    }

    private Optional<JobEvent> event(Mail mail) {
        return switch (mail) {
            case Mail.FromNode(int id, FromAgent message) -> {
                if (message.hasJobOpened()) {
                    AgentLink link = links.get(id);
                    JobClaim claim = Messages.claim(job, options.secret());
                    output.follow(id, link, claim, message.getJobOpened().getHost());
                    options.files().ifPresent(desk -> link.sendFiles(desk, claim));
                }
                yield news.read(id, message);
            }
            case Mail.NodeBroken(int id, String why, boolean refused) -> Optional.of(gone(id, why, refused));
            case Mail.NodeDropped(int id, String why) ->
                links.redialSoon(id) ? Optional.empty() : Optional.of(gone(id, why, false));
            case Mail.Asked(Inquiry inquiry) -> {
                news.ask(inquiry);
                yield Optional.empty();
            }
            case Mail.SignalMail(StopSignal signal) -> Optional.of(new JobEvent.SignalCame(signal));
        };
    }

    private JobEvent gone(int id, String why, boolean refused) {
        links.broken(id);
        return new JobEvent.NodeGone(id, links.where(id), why, refused);
    }

    private void perform(JobAction action) {
        switch (action) {
            case JobAction.Launch(int round, int restartCount, Lineup lineup) -> launch(round, restartCount, lineup);
            case JobAction.SendPeers(int round, List<JobAction.Peer> peers) -> toAll(Messages.peers(round, peers));
            case JobAction.TellRankLeft(int round, int rank, String how) -> {
                departures.add(round, rank, how);
                departures.tell(links.count());
            }
            case JobAction.Regroup(int round, String why) -> toAll(Messages.regroup(round, why));
            case JobAction.Abort(int round, String cause) -> {
                news.abort(round);
                toAll(Messages.abort(round, cause));
            }
            case JobAction.Stop(int signal, long graceMillis, boolean spareElastic) ->
                toAll(Messages.stop(signal, graceMillis, spareElastic));
            case JobAction.Checkpoint(int signal) -> {
                toAll(Messages.signal(signal));
                toAll(Messages.checkpoint());
            }
            case JobAction.After(JobEvent event, long millis) -> timers.start(event, millis);
            case JobAction.GiveUp(int id, String why) -> links.giveUp(id, why);
            case JobAction.Rest(int id, String why) -> links.rest(id, why);
            case JobAction.Say(String text) -> say.accept(text);
        }
    }

    private void toAll(ToAgent message) {
        departures.tellNow(links.count());
        links.sendAll(message);
    }

    private void launch(int round, int restartCount, Lineup lineup) {
        if (round == 1) {
            Layout.checkShown(lineup.ranks(), job);
            Layout.sharedDevices(lineup.ranks(), job.workers().gpuVisibility()).forEach(say);
        }
        news.begin(round, restartCount, lineup);
        for (Placement place : lineup.ranks().placements()) {
            output.expect(lineup.idOf(place.rank()), round, place);
        }
        for (Node node : lineup.ranks().nodes()) {
            links.send(
                    lineup.ids().get(node.nodeRank()),
                    Messages.launch(Messages.launch(job, lineup.ranks(), node, round, restartCount, lineup.kept())));
        }
    }
}
