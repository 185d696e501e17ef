package io.jrun.launcher;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.jrun.agent.AgentOptions;
import io.jrun.agent.AgentServer;
import io.jrun.agent.SocketTransport;
import io.jrun.launcher.console.LogMux;
import io.jrun.launcher.console.RankPrefix;
import io.jrun.launcher.coordinator.Agent;
import io.jrun.launcher.coordinator.Coordinator;
import io.jrun.launcher.coordinator.Coordinator.CoordinatorOptions;
import io.jrun.launcher.coordinator.Outcome;
import io.jrun.launcher.coordinator.Straggler;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.process.SignalHandlers;
import io.jrun.launcher.report.FailureReport;
import io.jrun.launcher.report.JobJson;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executors;

/** One job from start to exit code, with its agent inside this process or standing ones on its hosts. */
final class JobRun {
    private final JobSpec job;
    private final Path home;
    private final Terminal terminal;

    JobRun(JobSpec job, Path home, Terminal terminal) {
        this.job = job;
        this.home = home;
        this.terminal = terminal;
    }

    /** Runs the job; returns jrun's exit code. */
    int run() throws IOException, InterruptedException {
        long start = System.nanoTime();
        // With --json, stdout is the machine's: what workers print there goes to stderr.
        LogMux console = new LogMux(
                job.json() ? terminal.err() : terminal.out(),
                terminal.err(),
                new RankPrefix(job.console().prefixed(), terminal.outColoured() && !job.json(), terminal.errColoured()),
                job.console().terminals());
        CoordinatorOptions options = new CoordinatorOptions(Version.TEXT, ByteString.copyFrom(SecretFile.random()));
        Coordinator coordinator = new Coordinator(job, options, console, text -> console.say("jrun: " + text));
        SignalHandlers.install(job.stop().signals(), coordinator::signal);
        Path logs = job.logDirectory().resolve(job.runId());
        Outcome outcome;
        try (RunFolder _ = RunFolder.claim(logs, terminal::say)) {
            outcome = run(coordinator);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        List<Straggler> stragglers = coordinator.stragglers(seconds);
        stragglers.forEach(straggler -> terminal.say(straggler.words()));
        FailureReport.of(outcome, logs).forEach(terminal::error);
        if (job.json()) {
            terminal.print(JobJson.result(job, outcome, stragglers, seconds));
        }
        return outcome.exitCode();
    }

    private Outcome run(Coordinator coordinator) throws IOException, InterruptedException {
        if (job.cluster().isPresent()) {
            return coordinator.run(standingAgents(job.cluster().get()));
        }
        String name = "jrun-" + job.runId();
        try (AgentServer _ = AgentServer.inProcess(name, AgentOptions.ofHome(home, Version.TEXT))) {
            // The agent's messages come on threads of their own, never on a thread that holds a lock of the agent's:
            // the console may block its thread, and what a message leads to may call the agent again.
            Channel channel = InProcessChannelBuilder.forName(name)
                    .executor(Executors.newCachedThreadPool(JobRun::daemon))
                    .build();
            return coordinator.run(List.of(new Agent("", channel)));
        }
    }

    private static List<Agent> standingAgents(Cluster cluster) {
        SocketTransport transport = SocketTransport.to(SecretFile.read(cluster.secretFile()));
        return cluster.hosts().stream()
                .map(host -> new Agent(
                        host.name() + ":" + cluster.agentPort(), transport.channel(host.name(), cluster.agentPort())))
                .toList();
    }

    private static Thread daemon(Runnable work) {
        return Thread.ofPlatform().daemon().name("jrun-from-agent").unstarted(work);
    }
}
