package io.jrun.agent.job;

import io.grpc.ClientInterceptor;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.stub.MetadataUtils;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;

/**
 * Gives each call the address at which the launcher reaches this machine. Other nodes reach this node at the same
 * address. The node alone could only guess the address. Stateless.
 */
public final class LocalAddress implements ServerInterceptor {
    private static final Context.Key<String> ADDRESS = Context.key("jrun-local-address");

    private static final Metadata.Key<String> HEADER =
            Metadata.Key.of("jrun-address", Metadata.ASCII_STRING_MARSHALLER);

    private final boolean isInHeader;
    private final String own;

    private LocalAddress(boolean isInHeader, String own) {
        this.isInHeader = isInHeader;
        this.own = own;
    }

    /** The local address of the connection of the call. */
    public static LocalAddress ofConnection() {
        return new LocalAddress(false, "");
    }

    /** {@code own} if it is not empty, otherwise the address in the header of the call. */
    public static LocalAddress fromLauncher(String own) {
        return new LocalAddress(true, own);
    }

    /** Adds to each call a header with the numeric address at which the launcher sees the agent. */
    public static ClientInterceptor header(String address) {
        Metadata headers = new Metadata();
        headers.put(HEADER, address);
        return MetadataUtils.newAttachHeadersInterceptor(headers);
    }

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        String address = isInHeader ? ofHeader(headers) : ofConnection(call);
        return address.isEmpty()
                ? next.startCall(call, headers)
                : Contexts.interceptCall(Context.current().withValue(ADDRESS, address), call, headers, next);
    }

    private String ofHeader(Metadata headers) {
        String given = headers.get(HEADER);
        return !own.isEmpty() || given == null ? own : given;
    }

    private static String ofConnection(ServerCall<?, ?> call) {
        return call.getAttributes().get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR) instanceof InetSocketAddress socket
                ? numeric(socket.getAddress())
                : "";
    }

    /** The address without the name of the interface, which has no meaning on another machine. */
    private static String numeric(InetAddress address) {
        return address.getHostAddress().replaceFirst("%.*", "");
    }

    /** The address of the current call, empty for a call of this process. */
    public static Optional<String> current() {
        return Optional.ofNullable(ADDRESS.get());
    }
}
