package io.jrun.agent;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.job.ReachedAt;
import io.jrun.agent.node.HostFacts;
import io.jrun.agent.node.Node;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.proto.Blob;
import io.jrun.agent.proto.DoctorGrpc;
import io.jrun.agent.proto.DoctorGrpc.DoctorBlockingStub;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.ExamineRequest;
import io.jrun.agent.proto.MeasureRequest;
import io.jrun.agent.proto.Measurement;
import io.jrun.agent.worker.StartTools;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** What a standing agent tells {@code jrun doctor}: of its host, and of its ways to other agents. Thread-safe. */
final class DoctorService extends DoctorGrpc.DoctorImplBase {
    private static final int ROUND_TRIPS = 21;
    private static final int LARGE_MESSAGES = 5;
    private static final int LARGE_BYTES = 4 << 20;
    private static final long DEADLINE_SECONDS = 15;

    private final AgentOptions options;
    private final SocketTransport transport;

    /** @param secret that the other agents share */
    DoctorService(AgentOptions options, AgentSecret secret) {
        this.options = options;
        this.transport = SocketTransport.to(secret);
    }

    @Override
    public void examine(ExamineRequest request, StreamObserver<Examination> reply) {
        StartTools.Found tools;
        try {
            tools = StartTools.look(System.getenv());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            reply.onError(Status.CANCELLED.withCause(e).asRuntimeException());
            return;
        }
        Node node = NodeProbe.probeHere();
        HostFacts.Space shm = HostFacts.sharedMemory();
        String reachedAt = ReachedAt.current().orElse("");
        reply.onNext(Examination.newBuilder()
                .setVersion(options.version())
                .setJava(Runtime.version().toString())
                .setHost(node.host())
                .setReachedAt(reachedAt)
                .setInterface(HostFacts.interfaceOf(reachedAt))
                .setCores(node.cores())
                .setMemoryBytes(node.memoryBytes())
                .addAllGpus(node.gpus())
                .setGpuDriver(HostFacts.gpuDriver())
                .setShmFreeBytes(shm.free())
                .setShmBytes(shm.total())
                .setOpenFiles(HostFacts.openFiles())
                .addAllUnknownNames(HostFacts.unknown(request.getNamesList()))
                .setTools(tools.versions())
                .setMissingTools(tools.missing())
                .setClockMillis(System.currentTimeMillis())
                .build());
        reply.onCompleted();
    }

    @Override
    public void take(Blob blob, StreamObserver<Blob> reply) {
        reply.onNext(Blob.getDefaultInstance());
        reply.onCompleted();
    }

    @Override
    public void measure(MeasureRequest request, StreamObserver<Measurement> reply) {
        ManagedChannel channel = transport.channel(request.getHost(), request.getPort());
        try {
            reply.onNext(
                    measure(DoctorGrpc.newBlockingStub(channel).withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS)));
        } catch (RuntimeException e) {
            reply.onNext(Measurement.newBuilder()
                    .setError(why(Status.fromThrowable(e)))
                    .build());
        } finally {
            channel.shutdownNow();
        }
        reply.onCompleted();
    }

    private static Measurement measure(DoctorBlockingStub other) {
        Blob small = Blob.newBuilder().setData(ByteString.copyFrom(new byte[1])).build();
        Blob large = Blob.newBuilder()
                .setData(ByteString.copyFrom(new byte[LARGE_BYTES]))
                .build();
        nanos(other, small); // connects
        long[] roundTrips = new long[ROUND_TRIPS];
        Arrays.setAll(roundTrips, _ -> nanos(other, small));
        Arrays.sort(roundTrips);
        long best = Long.MAX_VALUE;
        for (int i = 0; i < LARGE_MESSAGES; i++) {
            best = Math.min(best, nanos(other, large));
        }
        return Measurement.newBuilder()
                .setRoundTripNanos(roundTrips[ROUND_TRIPS / 2])
                .setBytesPerSecond(LARGE_BYTES * 1e9 / best)
                .build();
    }

    private static long nanos(DoctorBlockingStub other, Blob blob) {
        long start = System.nanoTime();
        var _ = other.take(blob);
        return System.nanoTime() - start;
    }

    private static String why(Status status) {
        Throwable cause = status.getCause();
        while (cause != null && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return String.valueOf(cause == null ? status.getDescription() : cause.getMessage());
    }
}
