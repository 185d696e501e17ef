package io.jrun.launcher;

import io.jrun.agent.OutboundAgent;
import io.jrun.launcher.coordinator.Agent;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.RendezvousSettings;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.process.SignalHandlers;
import io.jrun.launcher.registration.AgentRegistry;
import io.jrun.launcher.registration.AgentSlot;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The jrun of a rendezvous that hosts the job. It waits for all nodes including its own, runs the job, and sends the
 * result to all nodes.
 */
final class RendezvousHost {
    /** The name of this process's own agent. No other agent may use the name. */
    static final String OWN_NODE = "host";

    /** Milliseconds to wait for the end of the agents after the end of the job. */
    private static final long LEAVE_MILLIS = 10_000;

    private final JobSpec job;
    private final RendezvousSettings settings;
    private final AgentRegistry arrivals;
    private final JobRun run;
    private final List<AgentSlot> slots = new ArrayList<>();

    /** Registrations (empty) and signals while the nodes join. */
    private final BlockingQueue<Optional<StopSignal>> changes = new LinkedBlockingQueue<>();

    private volatile boolean ownHasEnded;
    private volatile Consumer<StopSignal> receiver = signal -> changes.add(Optional.of(signal));
    private final SignalDeduplicator stops = new SignalDeduplicator(signal -> receiver.accept(signal));

    RendezvousHost(JobSpec job, RendezvousSettings settings, AgentRegistry arrivals, JobRun run) {
        this.job = job;
        this.settings = settings;
        this.arrivals = arrivals;
        this.run = run;
    }

    /** Runs the job. Returns its exit code after all nodes have received the exit code. */
    int run(OutboundAgent own) throws IOException, InterruptedException {
        SignalHandlers.install(job.stop().signals(), stops::onLocalSignal);
        for (int node = 0; node < settings.mostNodes(); node++) {
            AgentSlot slot = isOwn(node)
                    ? arrivals.expect(OWN_NODE, where(node))
                    : arrivals.expectUnnamed(name(node), where(node));
            slot.onSignal(stops::onRemoteSignal);
            watch(slot);
            slots.add(slot);
        }
        Thread agent = Thread.ofPlatform().daemon().name("jrun-own-agent").start(() -> serve(own));
        int exitCode = ExitCode.LOST;
        try {
            Optional<Integer> ended = gather();
            exitCode = ended.isPresent() ? ended.get() : runJob();
            return exitCode;
        } finally {
            own.giveUp();
            arrivals.sendExitCode(exitCode);
            agent.join(LEAVE_MILLIS);
        }
    }

    private void serve(OutboundAgent own) {
        try {
            switch (own.serve()) {
                case OutboundAgent.End.RefusedByLauncher(String why) -> run.report(why);
                case OutboundAgent.End.NotReached(String why) -> run.report("this node's own agent failed: " + why);
                case OutboundAgent.End.Dropped(String why) -> run.report(why);
                case OutboundAgent.End.Served _ -> {}
            }
        } catch (IOException e) {
            run.report("this node's own agent failed: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            ownHasEnded = true;
            changes.add(Optional.empty());
        }
    }

    private boolean isOwn(int node) {
        return node == settings.nodeRank().orElse(0);
    }

    private static String name(int node) {
        return Integer.toString(node);
    }

    private static String where(int node) {
        return "node " + node;
    }

    private void watch(AgentSlot slot) {
        var _ = slot.arrival().arrived().thenRun(() -> changes.add(Optional.empty()));
        var _ = slot.arrival().left().thenRun(() -> changes.add(Optional.empty()));
    }

    /** Waits for the nodes. Returns an exit code if too few nodes join. */
    private Optional<Integer> gather() throws IOException, InterruptedException {
        long deadline = System.nanoTime() + settings.joinTimeout().toNanos();
        long lastCall = Long.MAX_VALUE;
        while (true) {
            long now = System.nanoTime();
            if (!isHere(slots.get(settings.nodeRank().orElse(0)))) {
                deadline = now
                        + settings.joinTimeout()
                                .toNanos(); // the timeout of the other nodes begins when this node is ready
            }
            if (ownHasEnded) {
                return Optional.of(ExitCode.LOST);
            }
            long come = come();
            if (come == settings.mostNodes()) {
                return Optional.empty();
            }
            if (come < settings.leastNodes()) {
                lastCall = Long.MAX_VALUE;
            } else if (lastCall == Long.MAX_VALUE) {
                lastCall = now + settings.lastCall().toNanos();
            }
            if (now >= lastCall) {
                return Optional.empty();
            }
            if (come < settings.leastNodes() && now - deadline >= 0) {
                return Optional.of(missing(come));
            }
            long until = lastCall == Long.MAX_VALUE ? deadline : lastCall;
            Optional<StopSignal> stop = Optional.ofNullable(changes.poll(until - now, TimeUnit.NANOSECONDS))
                    .flatMap(signal -> signal);
            if (stop.filter(StopSignal::endsJob).isPresent()) {
                run.report("stopped by SIG" + stop.get().name() + " before the job began");
                return Optional.of(ExitCode.of(stop.get()));
            }
            for (int node = 0; node < slots.size(); node++) {
                AgentSlot slot = slots.get(node);
                if (slot.arrival().left().isDone() && !isOwn(node)) {
                    slot.renew();
                    watch(slot);
                }
            }
        }
    }

    private long come() {
        return slots.stream().filter(RendezvousHost::isHere).count();
    }

    private static boolean isHere(AgentSlot slot) {
        return slot.arrival().isPresent();
    }

    private int missing(long come) {
        String nodes = IntStream.range(0, slots.size())
                .filter(node -> !isHere(slots.get(node)))
                .mapToObj(RendezvousHost::name)
                .collect(Collectors.joining(", "));
        run.report("only " + come + " of " + settings.leastNodes() + " nodes have joined at " + settings.host() + ":"
                + settings.port() + " within " + settings.joinTimeout().toSeconds() + " s; missing: node " + nodes
                + ". Was the same command started there?");
        return ExitCode.LOST;
    }

    private int runJob() throws IOException, InterruptedException {
        List<AgentSlot> here = slots.stream().filter(RendezvousHost::isHere).toList();
        List<AgentSlot> late =
                slots.stream().filter(slot -> !here.contains(slot)).toList();
        boolean elastic = job.nodes().isElastic();
        if (!elastic) {
            arrivals.shut("job '" + settings.job() + "' runs already, with " + here.size() + " nodes");
            if (job.workers().masterPort() == settings.port()) {
                arrivals.releasePort(); // --master-port is the port of the rendezvous, and then of the workers
            }
        }
        return run.run(new JobRun.RunContext() {
            @Override
            public JobAgents open(Consumer<String> notices) {
                return new JobAgents(agents(here), elastic ? agents(late) : List.of(), () -> {});
            }

            @Override
            public void signals(Consumer<StopSignal> coordinator) {
                receiver = coordinator;
            }
        });
    }

    private static List<Agent> agents(List<AgentSlot> slots) {
        return slots.stream().map(AgentSlot::agent).toList();
    }
}
