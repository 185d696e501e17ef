package io.jrun.agent;

import io.grpc.Server;
import io.grpc.inprocess.InProcessServerBuilder;
import io.jrun.agent.job.JobService;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A running agent: in the launcher's own JVM, or standing behind a socket. Closing it kills the workers of all its jobs.
 * Thread-safe.
 */
public final class AgentServer implements AutoCloseable {
    private static final long CLOSE_SECONDS = 5;

    private final JobService service;
    private final Server server;

    AgentServer(JobService service, Server server) {
        this.service = service;
        this.server = server;
    }

    /**
     * An agent for coordinators of this JVM, reached with {@code InProcessChannelBuilder.forName(name)}; no socket and no
     * class of a network library is touched. Calls run on the caller's thread and only queue work.
     */
    public static AgentServer inProcess(String name, AgentOptions options) throws IOException {
        JobService service = new JobService(options);
        return new AgentServer(
                service,
                InProcessServerBuilder.forName(name)
                        .directExecutor()
                        .addService(service)
                        .build()
                        .start());
    }

    /**
     * An agent that listens on the loopback interface. A caller must prove that it knows the secret with every call,
     * see {@link AgentSecret}; others are refused as UNAUTHENTICATED and logged once.
     *
     * @param port 0 for any free one
     * @param log takes lines for the agent's own log
     */
    public static AgentServer listen(int port, AgentSecret secret, AgentOptions options, Consumer<String> log)
            throws IOException {
        JobService service = new JobService(options);
        return new AgentServer(service, SocketTransport.start(port, secret, service, log));
    }

    /** The port it listens on; -1 for an agent of this JVM. */
    public int port() {
        return server.getPort();
    }

    /** Waits until the agent is closed. */
    public void awaitTermination() throws InterruptedException {
        server.awaitTermination();
    }

    /** Kills all workers, waits for them, and stops serving; takes a few seconds at most. */
    @Override
    public void close() {
        server.shutdown();
        service.close();
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
