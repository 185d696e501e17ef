package io.jrun.launcher;

import io.jrun.agent.AgentSecret;
import io.jrun.agent.LauncherAddress;
import io.jrun.agent.OutboundAgent;
import io.jrun.agent.OutboundAgent.End;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.worker.AgentOptions;
import io.jrun.launcher.console.LogMultiplexer;
import io.jrun.launcher.console.WorkerPlace;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.RendezvousSettings;
import io.jrun.launcher.job.RendezvousSettings.Hosting;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerCount;
import io.jrun.launcher.process.SignalHandlers;
import io.jrun.launcher.registration.AgentRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One node of a job with one jrun on each node. This jrun may host the job. In any case it runs the workers of its
 * node.
 */
final class RendezvousRun {
    private final JobSpec job;
    private final RendezvousSettings settings;
    private final Path home;
    private final JobRun hosted;

    /** @param hosted runs the job if this jrun hosts the job */
    RendezvousRun(JobSpec job, RendezvousSettings settings, Path home, JobRun hosted) {
        this.job = job;
        this.settings = settings;
        this.home = home;
        this.hosted = hosted;
    }

    /** Joins the other nodes and runs the job. Returns the exit code of the job. */
    int run() throws IOException, InterruptedException {
        boolean loopback = settings.isOnOneMachine();
        AgentSecret secret = secret(loopback);
        Optional<AgentRegistry> arrivals = listen(loopback, secret);
        if (arrivals.isEmpty()) {
            return join(secret);
        }
        try (AgentRegistry open = arrivals.get()) {
            if (!settings.isNamed() && !loopback) { // with a loopback address all nodes are on this machine
                open.onePerMachine();
            }
            LauncherAddress here = new LauncherAddress(settings.host(), open.port()); // the name in the certificate
            return new RendezvousHost(job, settings, open, hosted)
                    .run(agent(here, RendezvousHost.OWN_NODE, secret, Optional.empty()));
        }
    }

    /** Returns the secret. With a loopback address no other machine needs the file, so jrun makes the file. */
    private AgentSecret secret(boolean loopback) {
        Path file = settings.secretFile();
        if (!loopback && !Files.exists(file)) {
            throw new UsageException(
                    "--secret-file: " + file + " does not exist. The nodes of a job authenticate each other"
                            + " with this file. Make the file once (umask 077; openssl rand -hex 32 > " + file
                            + "), and copy the file to every node.");
        }
        return SecretFile.readOrCreate(file);
    }

    /** Listens for the nodes. Returns empty if another jrun hosts the job. */
    private Optional<AgentRegistry> listen(boolean loopback, AgentSecret secret) {
        if (settings.hosting() == Hosting.ELSEWHERE) {
            return Optional.empty();
        }
        InetSocketAddress address = loopback
                ? new InetSocketAddress(settings.host(), settings.port())
                : new InetSocketAddress(settings.port());
        try {
            return Optional.of(AgentRegistry.listen(address, secret, Version.TEXT, settings.job(), hosted::report));
        } catch (IOException e) {
            if (settings.hosting() == Hosting.FIRST_TO_LISTEN) {
                return Optional.empty();
            }
            throw new UsageException("the rendezvous: this node hosts the job, and cannot listen on port "
                    + settings.port() + ": " + e.getMessage() + ". Does another job use this port? Use another port.");
        }
    }

    private OutboundAgent agent(
            LauncherAddress address, String node, AgentSecret secret, Optional<Consumer<LogChunk>> console) {
        return new OutboundAgent(
                new OutboundAgent.DialSettings(
                        List.of(address),
                        settings.job(),
                        node,
                        settings.localAddress(),
                        settings.workers().map(WorkerCount::text).orElse(""),
                        settings.joinTimeout()),
                secret,
                AgentOptions.ofHome(home, Version.TEXT),
                console);
    }

    /** Serves a job that another jrun hosts, and prints the output of this node's workers. */
    private int join(AgentSecret secret) throws IOException, InterruptedException {
        LogMultiplexer console = hosted.console();
        String host = NodeProbe.hostHere();
        LauncherAddress address = new LauncherAddress(settings.host(), settings.port());
        OutboundAgent agent =
                agent(address, node(settings.nodeRank()), secret, Optional.of(chunk -> print(console, host, chunk)));
        AtomicReference<@Nullable StopSignal> stopped = new AtomicReference<>();
        SignalHandlers.install(job.stop().signals(), signal -> {
            if (signal.endsJob()) {
                stopped.compareAndSet(null, signal);
                agent.giveUp();
            }
            agent.sendSignal(signal.number());
        });
        return exitCode(agent.serve(), address, stopped.get());
    }

    private static String node(OptionalInt rank) {
        return rank.isPresent() ? Integer.toString(rank.getAsInt()) : "";
    }

    private static void print(LogMultiplexer console, String host, LogChunk chunk) {
        console.print(
                new LogMultiplexer.LogSource(chunk.getRound(), chunk.getRank(), chunk.getStderr()),
                new WorkerPlace(host, chunk.getLocalRank()),
                chunk.getData().toByteArray(),
                chunk.getLast());
    }

    private int exitCode(End end, LauncherAddress address, @Nullable StopSignal stopped) {
        return switch (end) {
            case End.Served(String _, OptionalInt code) when code.isPresent() && code.getAsInt() == 0 -> 0;
            case End.Served(String _, OptionalInt code)
            when code.isPresent() ->
                report(
                        "the job has ended with exit code " + code.getAsInt() + "; " + settings.host()
                                + " has the report",
                        code.getAsInt());
            case End.Served(String why, OptionalInt _) ->
                report(
                        "the jrun that hosts the job, at " + address + ", was lost" + (why.isEmpty() ? "" : ": " + why),
                        ExitCode.LOST);
            case End.Dropped(String why) -> report(why, ExitCode.LOST);
            case End.RefusedByLauncher(String why) -> report(why, ExitCode.USAGE);
            case End.NotReached _
            when stopped != null ->
                report("stopped by SIG" + stopped.name() + " before the job began", ExitCode.of(stopped));
            case End.NotReached(String why) ->
                report(
                        "the jrun that hosts the job was not reached within "
                                + settings.joinTimeout().toSeconds() + " s: " + why,
                        ExitCode.LOST);
        };
    }

    private int report(String text, int exitCode) {
        hosted.report(text);
        return exitCode;
    }
}
