package io.jrun.agent;

import io.grpc.Server;
import io.grpc.inprocess.InProcessServerBuilder;
import io.jrun.agent.job.JobService;
import io.jrun.agent.job.LocalAddress;
import io.jrun.agent.job.ServiceOptions;
import io.jrun.agent.worker.AgentOptions;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A running agent, in the launcher's JVM or behind a socket. {@link #close} kills the workers of all its jobs.
 * Thread-safe.
 */
public final class AgentServer implements AutoCloseable {
    private static final long CLOSE_SECONDS = 5;

    private final JobService service;
    private final Server server;
    private final Optional<RefusalLog> refusals;

    private AgentServer(JobService service, Server server, Optional<RefusalLog> refusals) {
        this.service = service;
        this.server = server;
        this.refusals = refusals;
    }

    /**
     * An agent for coordinators of this JVM, which connect with {@code InProcessChannelBuilder.forName(name)}. It uses
     * no socket and loads no class of a network library. Calls run on the caller's thread and only queue work.
     */
    public static AgentServer inProcess(String name, AgentOptions options) throws IOException {
        JobService service = new JobService(ServiceOptions.of(options));
        Server server = InProcessServerBuilder.forName(name)
                .directExecutor()
                .addService(service)
                .build()
                .start();
        return new AgentServer(service, server, Optional.empty());
    }

    /**
     * An agent that listens at {@code address}. Callers prove in TLS that they know the secret, and send its token with
     * each call, see {@link AgentSecret}. The agent refuses all other callers and logs this once.
     *
     * @param address the address; port 0 for any free port
     * @param log receives lines for the agent's own log
     */
    public static AgentServer listen(
            InetSocketAddress address, AgentSecret secret, AgentOptions options, Consumer<String> log)
            throws IOException {
        JobService service = new JobService(ServiceOptions.of(options));
        RefusalLog refusals = RefusalLog.open(log);
        Server server = SocketTransport.listen(
                address,
                secret,
                List.of(service, new DoctorService(options.version(), secret, refusals)),
                LocalAddress.ofConnection(),
                HandshakeLimiter.ofAgent(refusals));
        return new AgentServer(service, server, Optional.of(refusals));
    }

    /** The port on which the agent listens; -1 for an agent in this JVM. */
    public int port() {
        return server.getPort();
    }

    /** Waits until the agent is closed. */
    public void awaitTermination() throws InterruptedException {
        server.awaitTermination();
    }

    /** Kills all workers, waits for their end, and stops serving. Takes a few seconds at most. */
    @Override
    public void close() {
        server.shutdown();
        service.close();
        refusals.ifPresent(RefusalLog::close);
        try {
            if (!server.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                server.shutdownNow();
            }
        } catch (InterruptedException e) {
            server.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }
}
