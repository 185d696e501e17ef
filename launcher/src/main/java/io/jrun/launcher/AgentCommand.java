package io.jrun.launcher;

import io.jrun.agent.AgentOptions;
import io.jrun.agent.AgentServer;
import io.jrun.launcher.cli.AgentRequest;
import io.jrun.launcher.cli.UsageException;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.process.SignalHandlers;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.concurrent.CompletableFuture;

/** {@code jrun agent}: serves other jrun commands until a signal ends it, and their workers with it. */
final class AgentCommand {
    private AgentCommand() {}

    /** Serves; returns the exit code. Says on stdout where it listens. */
    static int run(AgentRequest request, Path home, Terminal terminal) throws InterruptedException {
        CompletableFuture<StopSignal> end = new CompletableFuture<>();
        SignalHandlers.install(EnumSet.of(StopSignal.HUP, StopSignal.INT, StopSignal.TERM), end::complete);
        try (AgentServer server = listen(request, home, terminal)) {
            terminal.print("jrun agent: listening on " + withPort(request.host(), server.port()));
            return 128 + end.join().number();
        }
    }

    private static AgentServer listen(AgentRequest request, Path home, Terminal terminal) {
        InetSocketAddress address = new InetSocketAddress(request.host(), request.port());
        if (address.isUnresolved()) {
            throw new UsageException("--listen: the host '" + request.host()
                    + "' is unknown. Use an address of this machine, or 0.0.0.0 for all.");
        }
        try {
            return AgentServer.listen(
                    address,
                    SecretFile.readOrCreate(request.secretFile()),
                    AgentOptions.ofHome(home, Version.TEXT),
                    terminal::say);
        } catch (IOException e) {
            throw new UsageException("--listen: cannot listen on " + withPort(request.host(), request.port()) + ": "
                    + e.getMessage() + ". Use another port, or 0 for any.");
        }
    }

    private static String withPort(String host, int port) {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}
