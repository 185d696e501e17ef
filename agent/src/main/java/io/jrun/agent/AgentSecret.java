package io.jrun.agent;

import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import java.security.MessageDigest;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** What a coordinator and a standing agent both know. Its bytes appear in no message and no log. */
public final class AgentSecret {
    /** 128 bits, so that nobody guesses it over a loopback socket. */
    public static final int MIN_BYTES = 16;

    private static final Metadata.Key<byte[]> HEADER =
            Metadata.Key.of("jrun-secret-bin", Metadata.BINARY_BYTE_MARSHALLER);

    private final byte[] value;

    private AgentSecret(byte[] value) {
        this.value = value;
    }

    /** A secret of at least {@value #MIN_BYTES} bytes. */
    public static AgentSecret of(byte[] value) {
        if (value.length < MIN_BYTES) {
            throw new IllegalArgumentException(
                    "the agent's secret has " + value.length + " bytes, it needs at least " + MIN_BYTES);
        }
        return new AgentSecret(value.clone());
    }

    /** Adds the secret to every call of a channel. */
    public ClientInterceptor client() {
        Metadata headers = new Metadata();
        headers.put(HEADER, value);
        return MetadataUtils.newAttachHeadersInterceptor(headers);
    }

    /** Refuses calls without the secret. */
    ServerInterceptor server(Consumer<String> log) {
        return new Check(log);
    }

    private final class Check implements ServerInterceptor {
        private final Consumer<String> log;
        private final AtomicBoolean logged = new AtomicBoolean();

        Check(Consumer<String> log) {
            this.log = log;
        }

        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            byte[] shown = headers.get(HEADER);
            if (shown != null && MessageDigest.isEqual(shown, value)) {
                return next.startCall(call, headers);
            }
            if (logged.compareAndSet(false, true)) {
                log.accept("refused a caller without this agent's secret; further ones are refused silently");
            }
            call.close(
                    Status.UNAUTHENTICATED.withDescription(
                            "it was started with another secret; give the --secret-file that 'jrun agent' was given"),
                    new Metadata());
            return new ServerCall.Listener<>() {};
        }
    }
}
