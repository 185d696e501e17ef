package io.jrun.agent;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.jrun.agent.proto.HomeGrpc.HomeImplBase;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Where the agents of a job dial, in the launcher: {@code Home} over the same TLS that standing agents speak, with a secret
 * that the job's agents alone know. Thread-safe.
 */
public final class InboundAgentServer implements AutoCloseable {
    /** Streams end before their server does; what is left are agents that have just been refused. */
    private static final long CLOSE_MILLIS = 500;

    private static final Context.Key<String> CALLER = Context.key("jrun-caller");

    private final Server server;
    private final RefusalLog refusals;

    private InboundAgentServer(Server server, RefusalLog refusals) {
        this.server = server;
        this.refusals = refusals;
    }

    /**
     * Listens at {@code address}.
     *
     * @param address port 0 for any free one
     * @param log hears, once, of a caller that was refused
     */
    public static InboundAgentServer listen(
            InetSocketAddress address, AgentSecret secret, HomeImplBase service, Consumer<String> log)
            throws IOException {
        RefusalLog refusals = RefusalLog.open(log);
        return new InboundAgentServer(
                SocketTransport.listen(
                        address, secret, List.of(service), new CameFrom(), HandshakeLimiter.ofLauncher(refusals)),
                refusals);
    }

    /** The numeric address from which the current call of {@code Home} came. */
    public static String caller() {
        return CALLER.get();
    }

    /** The port it listens on. */
    public int port() {
        return server.getPort();
    }

    /** Stops listening, ends what calls are left. */
    @Override
    public void close() {
        server.shutdown();
        refusals.close();
        try {
            if (!server.awaitTermination(CLOSE_MILLIS, TimeUnit.MILLISECONDS)) {
                server.shutdownNow();
            }
        } catch (InterruptedException e) {
            server.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }

    /** Tells a call where it came from: the address by which others reach that node, which the node itself could only guess. */
    private static final class CameFrom implements ServerInterceptor {
        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            InetSocketAddress caller = (InetSocketAddress)
                    Objects.requireNonNull(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
            String address = caller.getAddress().getHostAddress().replaceFirst("%.*", ""); // of IPv6, the interface
            return Contexts.interceptCall(Context.current().withValue(CALLER, address), call, headers, next);
        }
    }
}
