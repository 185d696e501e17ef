package io.jrun.agent;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.proto.ProgramSpec;
import io.jrun.agent.proto.StopWorkers;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerFrame;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.agent.worker.AgentOptions;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The coordinator's end of one job on an agent of this JVM: sends what a test says and remembers what came back. */
public final class TestJob implements AutoCloseable {
    /** Separates working from hanging. */
    private static final long DEADLINE_SECONDS = 30;

    private static final ByteString SECRET = ByteString.copyFromUtf8("secret");

    /** The version that both ends claim. */
    public static final String VERSION = "test";

    private final @Nullable AgentServer server;
    private final @Nullable ManagedChannel ownChannel;
    private final Channel channel;
    private final StreamObserver<ControlRequest> toAgent;
    private final List<ControlResponse> received = new ArrayList<>();
    private final Path logDir;
    private final String runId;
    private @Nullable Throwable error;
    private boolean completed;

    private TestJob(@Nullable AgentServer server, Channel channel, @Nullable ManagedChannel ownChannel, Path logDir) {
        this.server = server;
        this.channel = channel;
        this.ownChannel = ownChannel;
        this.logDir = logDir;
        this.runId = "run-" + UUID.randomUUID();
        this.toAgent = AgentGrpc.newStub(channel).control(new Receiver());
    }

    /** A job, not yet opened, on an agent of its own. */
    public static TestJob inProcess(Path logDir) throws IOException {
        String name = "test-" + UUID.randomUUID();
        AgentServer server = AgentServer.inProcess(name, options());
        ManagedChannel channel =
                InProcessChannelBuilder.forName(name).directExecutor().build();
        return new TestJob(server, channel, channel, logDir);
    }

    /** A job, not yet opened, on whatever agent the channel leads to. */
    public static TestJob over(Channel channel, Path logDir) {
        return new TestJob(null, channel, null, logDir);
    }

    /** An installation whose runtime is this build's class path. */
    public static AgentOptions options() {
        List<Path> classPath = List.of(System.getProperty("java.class.path").split(":", -1)).stream()
                .map(Path::of)
                .toList();
        return new AgentOptions(VERSION, classPath, Optional.empty());
    }

    /** Opens the job and waits for the answer. */
    public JobOpened open() {
        return open(openRequest());
    }

    /** Opens the job as asked and waits for the answer. */
    public JobOpened open(OpenJob request) {
        send(ControlRequest.newBuilder().setOpenJob(request).build());
        return await(ControlResponse::hasJobOpened, ControlResponse::getJobOpened);
    }

    /** The OpenJob that {@link #open()} sends. */
    public OpenJob openRequest() {
        return OpenJob.newBuilder()
                .setJrunVersion(VERSION)
                .setRunId(runId)
                .setLogDir(logDir.toString())
                .setJobSecret(SECRET)
                .build();
    }

    /** With which its other streams begin. */
    public JobClaim claim() {
        return JobClaim.newBuilder().setRunId(runId).setJobSecret(SECRET).build();
    }

    /** A first round of {@code workers} shells that run {@code script}. */
    public LaunchRound.Builder shells(int workers, String script) {
        return launch(workers)
                .setProgram(ProgramSpec.newBuilder()
                        .setExecutable(ExecutableSpec.newBuilder().setPath("/bin/sh"))
                        .addArgs("-c")
                        .addArgs(script));
    }

    /** A first round of {@code workers} workers of no program yet. */
    public LaunchRound.Builder launch(int workers) {
        LaunchRound.Builder launch = LaunchRound.newBuilder()
                .setRound(1)
                .setWorldSize(workers)
                .setNodeCount(1)
                .setMasterAddress("127.0.0.1")
                .setMasterPort(29500)
                .setWorkingDir("/");
        for (int rank = 0; rank < workers; rank++) {
            launch.addWorkers(WorkerSpec.newBuilder()
                    .setRank(rank)
                    .setLocalRank(rank)
                    .setConsoleStdout(true)
                    .setConsoleStderr(true));
        }
        return launch;
    }

    /** Starts a round. */
    public void launch(LaunchRound.Builder launch) {
        send(ControlRequest.newBuilder().setLaunch(launch).build());
    }

    /** Stops the round. */
    public void stop(int signal, int graceMillis) {
        send(ControlRequest.newBuilder()
                .setStopWorkers(StopWorkers.newBuilder().setSignal(signal).setGraceMillis(graceMillis))
                .build());
    }

    /** Sends a message. */
    public void send(ControlRequest message) {
        toAgent.onNext(message);
    }

    /** Waits for the end of a worker. */
    public WorkerExitedReport exited(int rank) {
        return await(
                message ->
                        message.hasWorkerExited() && message.getWorkerExited().getRank() == rank,
                ControlResponse::getWorkerExited);
    }

    /** Waits until a worker was started and returns its pid. */
    public long pid(int rank) {
        return await(
                message ->
                        message.hasWorkerStarted() && message.getWorkerStarted().getRank() == rank,
                message -> message.getWorkerStarted().getPid());
    }

    /** Waits for a message and returns a part of it. */
    public <T> T await(Predicate<ControlResponse> which, Function<ControlResponse, T> part) {
        return awaitState(() -> {
            Optional<ControlResponse> found = received.stream().filter(which).findFirst();
            if (found.isEmpty() && (error != null || completed)) {
                throw new AssertionError("the control stream ended instead; received: " + received, error);
            }
            return found.map(part);
        });
    }

    /** Waits for a frame that a worker sends to the launcher. */
    public <F extends Frame.ToLauncher> F awaitFrame(int rank, Class<F> type) {
        return await(
                message -> message.hasWorkerFrame()
                        && message.getWorkerFrame().getRank() == rank
                        && type.isInstance(decoded(message.getWorkerFrame().getFrame())),
                message -> type.cast(decoded(message.getWorkerFrame().getFrame())));
    }

    /** A frame as the launcher reads it. */
    public static Frame decoded(ByteString frame) {
        try (DataInputStream in = new DataInputStream(frame.newInput())) {
            return FrameCodec.read(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends a frame of the launcher to a worker. */
    public void sendFrame(int rank, Frame.FromLauncher frame) {
        send(ControlRequest.newBuilder()
                .setWorkerFrame(WorkerFrame.newBuilder()
                        .setRank(rank)
                        .setRound(1)
                        .setFrame(ByteString.copyFrom(FrameCodec.encode(frame))))
                .build());
    }

    /** Waits until the control stream has failed. */
    public Throwable awaitError() {
        return awaitState(() -> Optional.ofNullable(error));
    }

    private synchronized <T> T awaitState(Supplier<Optional<T>> state) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
        Optional<T> found = state.get();
        while (found.isEmpty()) {
            long millis = (deadline - System.nanoTime()) / 1_000_000;
            if (millis <= 0) {
                throw new AssertionError("not within " + DEADLINE_SECONDS + " s; received: " + received);
            }
            try {
                wait(millis);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            found = state.get();
        }
        return found.get();
    }

    /** A stub for the log stream. */
    public AgentGrpc.AgentStub stub() {
        return AgentGrpc.newStub(channel);
    }

    /** The job's name. */
    public String runId() {
        return runId;
    }

    /** The folder of a rank's files in the first attempt. */
    public Path rankDir(int rank) {
        return logDir.resolve("attempt-0/rank-%04d".formatted(rank));
    }

    /** The output of a rank on stdout so far. */
    public String stdout(int rank) throws IOException {
        return Files.readString(rankDir(rank).resolve("stdout.log"), StandardCharsets.UTF_8);
    }

    /** The output of a rank on stderr so far. */
    public String stderr(int rank) throws IOException {
        return Files.readString(rankDir(rank).resolve("stderr.log"), StandardCharsets.UTF_8);
    }

    /** Waits until a rank has written a text to stdout. */
    public void awaitStdout(int rank, String text) throws IOException {
        Processes.await(() -> Files.exists(rankDir(rank).resolve("stdout.log"))
                && stdout(rank).contains(text));
    }

    /** Ends the control stream and waits until the agent has cleaned up. */
    public void end() {
        if (!isOver()) {
            toAgent.onCompleted();
        }
        awaitState(() -> completed || error != null ? Optional.of(true) : Optional.empty());
    }

    private synchronized boolean isOver() {
        return completed || error != null;
    }

    @Override
    public void close() {
        end();
        if (ownChannel != null) {
            ownChannel.shutdownNow();
        }
        if (server != null) {
            server.close();
        }
    }

    private final class Receiver implements StreamObserver<ControlResponse> {
        @Override
        public void onNext(ControlResponse message) {
            synchronized (TestJob.this) {
                received.add(message);
                TestJob.this.notifyAll();
            }
        }

        @Override
        public void onError(Throwable failure) {
            synchronized (TestJob.this) {
                error = failure;
                TestJob.this.notifyAll();
            }
        }

        @Override
        public void onCompleted() {
            synchronized (TestJob.this) {
                completed = true;
                TestJob.this.notifyAll();
            }
        }
    }
}
