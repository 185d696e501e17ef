package io.jrun.agent.job;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;

/**
 * Tells a call at which of this machine's addresses it came in: the one that others reach this node by, which the node itself
 * could only guess. Stateless.
 */
public final class LocalAddress implements ServerInterceptor {
    private static final Context.Key<String> ADDRESS = Context.key("jrun-reached-at");

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        return call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR) instanceof InetSocketAddress socket
                ? Contexts.interceptCall(
                        Context.current().withValue(ADDRESS, numeric(socket.getAddress())), call, headers, next)
                : next.startCall(call, headers);
    }

    /** Without the interface's name, which means nothing on another machine. */
    private static String numeric(InetAddress address) {
        return address.getHostAddress().replaceFirst("%.*", "");
    }

    /** The address of the current call, empty for one of this process. */
    public static Optional<String> current() {
        return Optional.ofNullable(ADDRESS.get());
    }
}
