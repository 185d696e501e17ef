package io.jrun.launcher;

import io.jrun.agent.AgentSecret;
import io.jrun.agent.AgentServer;
import io.jrun.agent.LauncherAddress;
import io.jrun.agent.OutboundAgent;
import io.jrun.agent.worker.AgentOptions;
import io.jrun.agent.worker.ParentDeath;
import io.jrun.launcher.cli.AgentRequest;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.process.SignalHandlers;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

/**
 * {@code jrun agent}: a standing agent that serves jobs until a signal ends the agent and its workers, or an outbound
 * agent that serves the job of one launcher.
 */
final class AgentCommand {
    /**
     * The time for which an outbound agent tries to connect. The launcher listens before it starts agents, so only a
     * short failure of the network delays the connection.
     */
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

    private AgentCommand() {}

    /** Runs the agent. Returns the exit code. */
    static int run(AgentRequest request, Path home, Terminal terminal) throws IOException, InterruptedException {
        return switch (request) {
            case AgentRequest.Listen listen -> runStanding(listen, home, terminal);
            case AgentRequest.Dial dial -> runOutbound(dial, home, terminal);
        };
    }

    /**
     * Serves one job. The agent ignores signals, because a batch system sends signals to launcher and agents at once,
     * and the workers of an ended agent would have no grace period. The agent ends with the job, or with the connection
     * to the launcher.
     */
    private static int runOutbound(AgentRequest.Dial request, Path home, Terminal terminal)
            throws IOException, InterruptedException {
        AtomicReference<OutboundAgent> serving = new AtomicReference<>();
        SignalHandlers.install(EnumSet.allOf(StopSignal.class), signal -> {
            OutboundAgent agent = serving.get();
            if (signal == StopSignal.USR1
                    && agent != null) { // from Slurm before the time limit; the launcher does not get this signal
                agent.checkpointNow();
            }
        });
        AgentSecret secret = JobSecret.read(System.in);
        OutboundAgent.DialSettings call =
                new OutboundAgent.DialSettings(request.launchers(), "", request.node(), "", "", CONNECT_TIMEOUT);
        OutboundAgent agent =
                new OutboundAgent(call, secret, AgentOptions.ofHome(home, Version.TEXT), Optional.empty());
        serving.set(agent);
        return switch (agent.serve()) {
            case OutboundAgent.End.Served(String why, OptionalInt _) when why.isEmpty() -> 0;
            case OutboundAgent.End.Served(String why, OptionalInt _) ->
                report(terminal, "the launcher was lost: " + why, ExitCode.LOST);
            case OutboundAgent.End.Dropped _ -> 0; // the launcher has reported the reason
            case OutboundAgent.End.RefusedByLauncher(String why) -> report(terminal, why, ExitCode.USAGE);
            case OutboundAgent.End.NotReached(String why) ->
                report(terminal, "the launcher cannot be reached: " + why, ExitCode.LOST);
        };
    }

    private static int report(Terminal terminal, String text, int exitCode) {
        terminal.report(text);
        return exitCode;
    }

    /** Runs a standing agent, which prints its address on stdout. */
    private static int runStanding(AgentRequest.Listen request, Path home, Terminal terminal)
            throws InterruptedException {
        CompletableFuture<StopSignal> end = new CompletableFuture<>();
        SignalHandlers.install(EnumSet.of(StopSignal.HUP, StopSignal.INT, StopSignal.TERM), end::complete);
        try (AgentServer server = listen(request, home, terminal)) {
            terminal.print("jrun agent: listening on " + withPort(request.host(), server.port()));
            return ExitCode.of(end.join());
        }
    }

    private static AgentServer listen(AgentRequest.Listen request, Path home, Terminal terminal) {
        InetSocketAddress address = new InetSocketAddress(request.host(), request.port());
        if (address.isUnresolved()) {
            throw new UsageException("--listen: the host '" + request.host()
                    + "' is unknown. Use an address of this machine, or 0.0.0.0 for all.");
        }
        try {
            var _ = ParentDeath.find(System.getenv());
        } catch (IOException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
        try {
            return AgentServer.listen(
                    address,
                    SecretFile.readOrCreate(request.secretFile()),
                    AgentOptions.ofHome(home, Version.TEXT),
                    terminal::report);
        } catch (IOException e) {
            throw new UsageException("--listen: cannot listen on " + withPort(request.host(), request.port()) + ": "
                    + (isOfThisMachine(address.getAddress())
                            ? e.getMessage() + ". Use another port, or 0 for any."
                            : "this machine has no address "
                                    + address.getAddress().getHostAddress() + ". Use one of "
                                    + String.join(", ", ownAddresses()) + ", or 0.0.0.0 for all."));
        }
    }

    /**
     * Whether the address belongs to this machine. All addresses of 127.0.0.0/8 do, although the interface has only one
     * of them.
     */
    private static boolean isOfThisMachine(InetAddress address) {
        try {
            return address.isAnyLocalAddress()
                    || address.isLoopbackAddress()
                    || NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            return true; // the interfaces are unknown
        }
    }

    private static List<String> ownAddresses() {
        try {
            return NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .map(InetAddress::getHostAddress)
                    .sorted()
                    .toList();
        } catch (SocketException e) {
            return List.of("this machine's addresses"); // the interfaces are unknown
        }
    }

    private static String withPort(String host, int port) {
        return new LauncherAddress(host, port).toString();
    }
}
