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
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Tells each call at which of its addresses the launcher reaches this machine. Other nodes reach this node there as well. The
 * node by itself could only guess the address. Stateless.
 */
public final class LocalAddress implements ServerInterceptor {
    private static final Context.Key<String> ADDRESS = Context.key("jrun-local-address");

    private final @Nullable Supplier<String> known;

    private LocalAddress(@Nullable Supplier<String> known) {
        this.known = known;
    }

    /** The address at which the connection of the call has come in. */
    public static LocalAddress ofConnection() {
        return new LocalAddress(null);
    }

    /** An address that somebody else knows, asked at the beginning of each call; empty if it is not known. */
    public static LocalAddress of(Supplier<String> address) {
        return new LocalAddress(address);
    }

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        String address = known == null ? ofConnection(call) : known.get();
        return address.isEmpty()
                ? next.startCall(call, headers)
                : Contexts.interceptCall(Context.current().withValue(ADDRESS, address), call, headers, next);
    }

    private static String ofConnection(ServerCall<?, ?> call) {
        return call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR) instanceof InetSocketAddress socket
                ? numeric(socket.getAddress())
                : "";
    }

    /** Without the interface's name, which means nothing on another machine. */
    private static String numeric(InetAddress address) {
        return address.getHostAddress().replaceFirst("%.*", "");
    }

    /** The address of the current call, empty for a call of this process. */
    public static Optional<String> current() {
        return Optional.ofNullable(ADDRESS.get());
    }
}
