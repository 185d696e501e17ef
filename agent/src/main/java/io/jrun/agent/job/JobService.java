package io.jrun.agent.job;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.files.LauncherFiles;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.CheckpointRequest;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.InputCredit;
import io.jrun.agent.proto.InputPiece;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.proto.TimelinePiece;
import io.jrun.agent.proto.TimelineRequest;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** The gRPC service of an agent: one {@link Job} for each control call. The other calls name their job with a claim. */
public final class JobService extends AgentGrpc.AgentImplBase implements AutoCloseable {
    private final ServiceOptions options;
    private final ConcurrentMap<String, Job> jobs = new ConcurrentHashMap<>();
    private final ConcurrentMap<Job, LocalConsole> consoles = new ConcurrentHashMap<>();

    /** A service without jobs. */
    public JobService(ServiceOptions options) {
        this.options = options;
    }

    @Override
    public StreamObserver<ControlRequest> control(StreamObserver<ControlResponse> toCoordinator) {
        return new ControlStream((ServerCallStreamObserver<ControlResponse>) toCoordinator, LocalAddress.current());
    }

    @Override
    public StreamObserver<LogCredit> logs(StreamObserver<LogChunk> toConsole) {
        return new LogStream((ServerCallStreamObserver<LogChunk>) toConsole);
    }

    @Override
    public StreamObserver<InputPiece> input(StreamObserver<InputCredit> toLauncher) {
        return new InputCall((ServerCallStreamObserver<InputCredit>) toLauncher, this::claimed);
    }

    @Override
    public StreamObserver<FileChunk> files(StreamObserver<FileRequest> toLauncher) {
        return new FileStream((ServerCallStreamObserver<FileRequest>) toLauncher);
    }

    @Override
    public void timelines(TimelineRequest request, StreamObserver<TimelinePiece> toLauncher) {
        TimelineCall call = new TimelineCall((ServerCallStreamObserver<TimelinePiece>) toLauncher);
        try {
            call.begin(claimed(request.getJob()).logFolder(), request.getFilesList());
        } catch (StatusRuntimeException e) {
            toLauncher.onError(e);
        }
    }

    /** Kills the workers of all jobs and waits until they are reaped, at most a few seconds. */
    @Override
    public void close() {
        List<Job> open = List.copyOf(jobs.values());
        open.forEach(Job::end);
        open.forEach(Job::awaitEnd);
    }

    /** Requests a checkpoint from the workers of all jobs. */
    public void checkpointNow() {
        ControlRequest request = ControlRequest.newBuilder()
                .setCheckpointNow(CheckpointRequest.getDefaultInstance())
                .build();
        jobs.values().forEach(job -> job.handle(request));
    }

    /** Waits until the console of this process has printed all output of ended jobs, or has printed nothing for 5 s. */
    public void awaitShown() {
        consoles.values().forEach(LocalConsole::awaitShown);
    }

    /** Ends {@link #awaitShown}. */
    public void giveUpShowing() {
        consoles.values().forEach(LocalConsole::giveUp);
    }

    private void ended(Job job) {
        jobs.remove(job.runId(), job);
        consoles.remove(job);
    }

    private Job open(OpenJob request, Optional<String> localAddress, ResponseStream<ControlResponse> out) {
        if (!request.getJrunVersion().equals(options.agent().version())) {
            throw Status.FAILED_PRECONDITION
                    .withDescription(
                            "this node's agent is jrun " + options.agent().version() + ", the launcher is jrun "
                                    + request.getJrunVersion() + "; install the same version on all nodes")
                    .asRuntimeException();
        }
        Job job = new Job(request, options, localAddress, out, this::ended);
        if (jobs.putIfAbsent(request.getRunId(), job) != null) {
            throw Status.ALREADY_EXISTS
                    .withDescription("a job with the run id '" + request.getRunId()
                            + "' is running on this agent; choose another --run-id, or name each host once")
                    .asRuntimeException();
        }
        try {
            job.open();
            return job;
        } catch (IOException e) {
            jobs.remove(request.getRunId(), job);
            throw Status.FAILED_PRECONDITION
                    .withDescription(e.getMessage())
                    .withCause(e)
                    .asRuntimeException();
        } catch (RuntimeException e) {
            jobs.remove(request.getRunId(), job);
            throw Status.INTERNAL
                    .withDescription("the agent failed to open the job: " + e)
                    .withCause(e)
                    .asRuntimeException();
        }
    }

    /** The job of a claim. Throws the status with which the stream fails. */
    private Job claimed(JobClaim claim) {
        Job job = jobs.get(claim.getRunId());
        if (job == null || !job.isClaimedBy(claim.getJobSecret())) {
            throw Status.NOT_FOUND
                    .withDescription("no job '" + claim.getRunId() + "' with this secret is running on this agent")
                    .asRuntimeException();
        }
        return job;
    }

    /** The control call of one job. gRPC calls it from one thread at a time. */
    private final class ControlStream implements StreamObserver<ControlRequest> {
        private final ResponseStream<ControlResponse> out;
        private final Optional<String> localAddress;
        private @Nullable Job job;
        private boolean refused;
        private volatile boolean shows;

        ControlStream(ServerCallStreamObserver<ControlResponse> stream, Optional<String> localAddress) {
            this.out = new ResponseStream<>(stream, NodeProbe.hostHere(), ResponseStream.MOST_BYTES);
            this.localAddress = localAddress;
            stream.setOnCancelHandler(this::lost);
        }

        @Override
        public void onNext(ControlRequest message) {
            if (job != null) {
                job.handle(message);
                return;
            }
            if (refused) {
                return; // the launcher sent this before it received the refusal
            }
            try {
                if (!message.hasOpenJob()) {
                    throw Status.FAILED_PRECONDITION
                            .withDescription("the first message of a control stream must be OpenJob, this one is "
                                    + message.getMessageCase())
                            .asRuntimeException();
                }
                job = open(message.getOpenJob(), localAddress, out);
            } catch (StatusRuntimeException e) {
                refused = true;
                options.listener().failed(String.valueOf(e.getStatus().getDescription()));
                out.fail(e);
                options.listener().ended();
            }
        }

        @Override
        public void onError(Throwable lost) {
            lost();
        }

        /** A launcher that has completed the call may leave before this process has shown all output. */
        private void lost() {
            if (!shows) {
                end();
            }
        }

        @Override
        public void onCompleted() {
            if (job == null && !refused) {
                out.complete();
            }
            LocalConsole console = job == null ? null : consoles.get(job);
            if (console == null) {
                end();
            } else {
                shows = true;
                Thread.ofVirtual().name("jrun-last-output").start(() -> {
                    console.awaitShown();
                    end();
                });
            }
        }

        private void end() {
            Job current = job;
            if (current != null) {
                current.end();
            }
        }
    }

    private final class LogStream implements StreamObserver<LogCredit> {
        private final ResponseStream<LogChunk> out;
        private @Nullable Job job;

        LogStream(ServerCallStreamObserver<LogChunk> stream) {
            this.out = new ResponseStream<>(stream, NodeProbe.hostHere(), ResponseStream.MOST_BYTES);
            stream.setOnCancelHandler(this::end);
        }

        @Override
        public void onNext(LogCredit credit) {
            if (job == null) {
                try {
                    job = claimed(credit.getJob());
                } catch (StatusRuntimeException e) {
                    out.fail(e);
                    return;
                }
                attach(job);
            }
            job.feed().grant(credit.getBytes());
            if (credit.getLastRound()) {
                job.feed().closeWhenSent();
            }
        }

        private void attach(Job attached) {
            if (options.console().isEmpty()) {
                attached.feed().attach(out::send, out::complete);
                return;
            }
            LocalConsole console = new LocalConsole(options.console().get(), attached.feed(), out);
            consoles.put(attached, console);
            console.attach();
        }

        @Override
        public void onError(Throwable lost) {
            end();
        }

        @Override
        public void onCompleted() {
            if (options.console().isEmpty()) {
                end();
                out.complete();
            }
        }

        /** The console of this process runs to the end of the job. */
        private void end() {
            Job current = job;
            if (current != null && options.console().isEmpty()) {
                current.feed().close();
            }
        }
    }

    /** The first chunk has the claim of the job; all others go to its staging. */
    private final class FileStream implements StreamObserver<FileChunk> {
        private final StreamObserver<FileRequest> toLauncher;
        private final StreamObserver<FileChunk> answers;
        private final LauncherFiles launcher;
        private boolean attached;

        FileStream(ServerCallStreamObserver<FileRequest> toLauncher) {
            this.toLauncher = toLauncher;
            this.launcher = new LauncherFiles(toLauncher);
            this.answers = launcher.answers();
            toLauncher.setOnCancelHandler(() -> answers.onError(Status.CANCELLED.asRuntimeException()));
        }

        @Override
        public void onNext(FileChunk chunk) {
            if (attached) {
                answers.onNext(chunk);
                return;
            }
            try {
                claimed(chunk.getJob()).staging().attach(launcher);
                attached = true;
            } catch (StatusRuntimeException e) {
                toLauncher.onError(e);
            }
        }

        @Override
        public void onError(Throwable lost) {
            answers.onError(lost);
        }

        @Override
        public void onCompleted() {
            answers.onCompleted();
        }
    }
}
