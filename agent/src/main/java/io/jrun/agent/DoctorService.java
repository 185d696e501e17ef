package io.jrun.agent;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.job.LocalAddress;
import io.jrun.agent.proto.Blob;
import io.jrun.agent.proto.DoctorGrpc;
import io.jrun.agent.proto.DoctorGrpc.DoctorBlockingStub;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.ExamineRequest;
import io.jrun.agent.proto.LinkMeasurement;
import io.jrun.agent.proto.ListenRequest;
import io.jrun.agent.proto.Listening;
import io.jrun.agent.proto.MeasureRequest;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Answers {@code jrun doctor}: facts of this host, and measurements of connections to other agents. Thread-safe. */
final class DoctorService extends DoctorGrpc.DoctorImplBase {
    private static final int ROUND_TRIPS = 21;
    private static final int LARGE_MESSAGES = 5;
    private static final int LARGE_BYTES = 4 << 20;
    private static final long DEADLINE_SECONDS = 15;

    /** After this time no further large message begins. A slow link or a busy machine gets fewer messages. */
    private static final Duration LARGE_MESSAGES_LIMIT = Duration.ofSeconds(1);

    /** Longest wait for a connection. Some firewalls drop packets without an answer. */
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(5);

    private final String version;
    private final AgentSecret secret;
    private final SocketTransport transport;
    private final RefusalLog refusals;

    /**
     * @param version the version of jrun
     * @param secret the secret that the other agents share
     * @param refusals receives refused callers, which have no secret
     */
    DoctorService(String version, AgentSecret secret, RefusalLog refusals) {
        this.version = version;
        this.secret = secret;
        this.transport = SocketTransport.to(secret);
        this.refusals = refusals;
    }

    @Override
    public void examine(ExamineRequest request, StreamObserver<Examination> reply) {
        if (request.getClockOnly()) {
            reply.onNext(Examination.newBuilder()
                    .setClockMillis(System.currentTimeMillis())
                    .build());
            reply.onCompleted();
            return;
        }
        try {
            reply.onNext(HostInspection.here(
                    version, request.getNamesList(), LocalAddress.current().orElse("")));
            reply.onCompleted();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            reply.onError(Status.CANCELLED.withCause(e).asRuntimeException());
        }
    }

    @Override
    public void listen(ListenRequest request, StreamObserver<Listening> reply) {
        try {
            Server server = listen();
            ((ServerCallStreamObserver<Listening>) reply).setOnCancelHandler(server::shutdownNow);
            reply.onNext(Listening.newBuilder().setPort(server.getPort()).build());
        } catch (IOException e) {
            reply.onError(Status.UNAVAILABLE
                    .withDescription("no port can be opened: " + e.getMessage())
                    .asRuntimeException());
        }
    }

    /** A server for the measurements of other agents. It listens on all addresses, as workers do. */
    private Server listen() throws IOException {
        return SocketTransport.listen(
                new InetSocketAddress(0),
                secret,
                List.of(this),
                LocalAddress.ofConnection(),
                HandshakeLimiter.ofAgent(refusals));
    }

    @Override
    public void take(Blob blob, StreamObserver<Blob> reply) {
        reply.onNext(Blob.getDefaultInstance());
        reply.onCompleted();
    }

    @Override
    public void measure(MeasureRequest request, StreamObserver<LinkMeasurement> reply) {
        reply.onNext(measure(request));
        reply.onCompleted();
    }

    /** Measures a connection. Takes a few seconds at most. */
    private LinkMeasurement measure(MeasureRequest request) {
        ManagedChannel channel = transport.channel(request.getHost(), request.getPort(), CONNECT_LIMIT);
        try {
            return measure(DoctorGrpc.newBlockingStub(channel).withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS));
        } catch (RuntimeException e) {
            return LinkMeasurement.newBuilder()
                    .setError(ErrorCauses.first(Status.fromThrowable(e)))
                    .build();
        } finally {
            channel.shutdownNow();
        }
    }

    private static LinkMeasurement measure(DoctorBlockingStub other) {
        Blob small = Blob.newBuilder().setData(ByteString.copyFrom(new byte[1])).build();
        Blob large = Blob.newBuilder()
                .setData(ByteString.copyFrom(new byte[LARGE_BYTES]))
                .build();
        nanos(other, small); // connects
        long[] roundTrips = new long[ROUND_TRIPS];
        Arrays.setAll(roundTrips, _ -> nanos(other, small));
        Arrays.sort(roundTrips);
        long best = Long.MAX_VALUE;
        long start = System.nanoTime();
        for (int i = 0; i < LARGE_MESSAGES && System.nanoTime() - start < LARGE_MESSAGES_LIMIT.toNanos(); i++) {
            best = Math.min(best, nanos(other, large));
        }
        return LinkMeasurement.newBuilder()
                .setRoundTripNanos(roundTrips[ROUND_TRIPS / 2])
                .setBytesPerSecond(LARGE_BYTES * 1e9 / best)
                .build();
    }

    private static long nanos(DoctorBlockingStub other, Blob blob) {
        long start = System.nanoTime();
        var _ = other.take(blob);
        return System.nanoTime() - start;
    }
}
