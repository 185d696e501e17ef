package io.jrun.launcher.registration;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.Relay;
import io.jrun.agent.proto.Arrived;
import io.jrun.agent.proto.DoctorAnswer;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.FileRequest;
import io.jrun.agent.proto.FromAgent;
import io.jrun.agent.proto.JobEnded;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.RoundsOver;
import io.jrun.agent.proto.StreamFailed;
import io.jrun.agent.proto.ToAgent;
import io.jrun.agent.proto.Welcome;
import io.jrun.launcher.job.StopSignal;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One agent at its {@link AgentSlot}, from being expected until it has left. What the coordinator says waits until the agent has
 * arrived, and fails when it is known that it will not. Thread-safe.
 */
public final class AgentRegistration implements AutoCloseable {
    private final Consumer<StopSignal> onSignal;
    private final AtomicBoolean called = new AtomicBoolean();
    private final AtomicBoolean taken = new AtomicBoolean();
    private final CompletableFuture<Void> arrived = new CompletableFuture<>();
    private final CompletableFuture<Void> left = new CompletableFuture<>();
    private final Relay<ToAgent> orders = new Relay<>();
    private final Relay<FromAgent> events = new Relay<>();
    private final Relay<LogCredit> credits = new Relay<>();
    private final Relay<LogChunk> chunks = new Relay<>();
    private final Relay<FileChunk> files = new Relay<>();
    private final Relay<FileRequest> requests = new Relay<>();
    private volatile @Nullable ServerCallStreamObserver<FromAgent> coordinator;
    private volatile @Nullable Pace eventsPace;
    private volatile @Nullable Pace filesPace;
    private final DoctorQueries doctorQueries = new DoctorQueries(question ->
            orders.onNext(ToAgent.newBuilder().setDoctorQuestion(question).build()));

    /** @param onSignal hears of signals that the node's own process gets */
    AgentRegistration(Consumer<StopSignal> onSignal) {
        this.onSignal = onSignal;
    }

    /** Completes when the agent has arrived. */
    public CompletableFuture<Void> arrived() {
        return arrived;
    }

    /** Completes when an agent that had arrived is gone, or the coordinator has given it up. */
    public CompletableFuture<Void> left() {
        return left;
    }

    /** Whether an agent is here now. */
    public boolean isOnThisMachine() {
        return arrived.isDone() && !left.isDone();
    }

    /** Whether the coordinator calls for the first time; from now on it has called. */
    boolean call() {
        return called.compareAndSet(false, true);
    }

    /** The coordinator's control stream. */
    StreamObserver<ToAgent> controlled(ServerCallStreamObserver<FromAgent> toCoordinator) {
        toCoordinator.setOnReadyHandler(() -> whenThere(eventsPace, Pace::ready));
        coordinator = toCoordinator;
        events.to(toCoordinator);
        return new FromCoordinator();
    }

    /** The coordinator's log stream. */
    StreamObserver<LogCredit> logged(StreamObserver<LogChunk> toConsole) {
        chunks.to(toConsole);
        return credits;
    }

    /** The coordinator's stream of files. */
    StreamObserver<FileChunk> supplied(ServerCallStreamObserver<FileRequest> toDesk) {
        Pace pace = new Pace(toDesk);
        filesPace = pace;
        requests.to(toDesk);
        return new FromDesk(pace);
    }

    private static void whenThere(@Nullable Pace pace, Consumer<Pace> call) {
        if (pace != null) {
            call.accept(pace);
        }
    }

    /** What {@code jrun doctor} asks of the agent. */
    DoctorQueries doctorQueries() {
        return doctorQueries;
    }

    /** The agent will not come, or has left; the coordinator's streams fail with {@code why}, in its words "cannot be reached". */
    void fail(String why) {
        fail(Status.UNAVAILABLE.withDescription(why));
    }

    private void fail(Status status) {
        events.onError(status.asRuntimeException());
        chunks.onError(status.asRuntimeException());
        requests.onError(status.asRuntimeException());
        doctorQueries.fail(status);
    }

    /** The node is here, but of another make: the coordinator hears that the agent refuses the job. */
    void refuse(String why) {
        fail(Status.FAILED_PRECONDITION.withDescription(why));
    }

    /** Whether no agent has arrived so far; from now on one has. */
    boolean take() {
        return taken.compareAndSet(false, true);
    }

    /**
     * Ties the agent's stream to the coordinator's.
     *
     * @param caller the numeric address that the agent came from
     * @param pace of the agent's messages
     */
    StreamObserver<FromAgent> arrive(
            String node, Arrived who, String caller, ServerCallStreamObserver<ToAgent> toAgent, Pace pace) {
        eventsPace = pace;
        ServerCallStreamObserver<FromAgent> toCoordinator = coordinator;
        if (toCoordinator != null) { // a doctor has none
            pace.to(toCoordinator);
        }
        String address = who.getAddress().isEmpty() ? caller : who.getAddress();
        toAgent.onNext(ToAgent.newBuilder()
                .setWelcome(Welcome.newBuilder().setNode(node))
                .build());
        orders.to(toAgent);
        arrived.complete(null);
        return new FromNode(address, who.getWorkers());
    }

    /** Ties the agent's log stream to the coordinator's. */
    StreamObserver<LogChunk> logs(StreamObserver<LogCredit> toAgent) {
        credits.to(toAgent);
        return chunks;
    }

    /** Ties the agent's stream of files to the coordinator's. */
    StreamObserver<FileRequest> files(ServerCallStreamObserver<FileChunk> toAgent) {
        whenThere(filesPace, pace -> pace.to(toAgent));
        files.to(toAgent);
        return requests;
    }

    /** The agent's stream of files may take more. */
    void filesReady() {
        whenThere(filesPace, Pace::ready);
    }

    /** Ends the agent, if it is there, which hears how the job has ended. */
    void tell(int exitCode) {
        orders.onNext(ToAgent.newBuilder()
                .setJobEnded(JobEnded.newBuilder().setExitCode(exitCode))
                .build());
        orders.onCompleted();
    }

    /** The agent, if it is there, ends. */
    @Override
    public void close() {
        orders.onCompleted();
    }

    /** The coordinator's side of the control stream, which outlives it for a last word. */
    private final class FromCoordinator implements StreamObserver<ToAgent> {
        @Override
        public void onNext(ToAgent message) {
            orders.onNext(message);
        }

        @Override
        public void onError(Throwable givenUp) {
            onCompleted();
            left.complete(null);
        }

        @Override
        public void onCompleted() {
            coordinator = null;
            whenThere(eventsPace, Pace::drop);
            orders.onNext(ToAgent.newBuilder()
                    .setRoundsOver(RoundsOver.getDefaultInstance())
                    .build());
        }
    }

    /** Pieces of files, no faster than the agent takes them. */
    private final class FromDesk implements StreamObserver<FileChunk> {
        private final Pace pace;

        FromDesk(Pace pace) {
            this.pace = pace;
        }

        @Override
        public void onNext(FileChunk chunk) {
            files.onNext(chunk);
            pace.passed();
        }

        @Override
        public void onError(Throwable lost) {
            files.onError(lost);
        }

        @Override
        public void onCompleted() {
            files.onCompleted();
        }
    }

    /** The agent's side of the control stream. gRPC calls it from one thread at a time. */
    private final class FromNode implements StreamObserver<FromAgent> {
        private final String address;
        private final String workers;

        FromNode(String address, String workers) {
            this.address = address;
            this.workers = workers;
        }

        @Override
        public void onNext(FromAgent message) {
            switch (message.getMessageCase()) {
                case JOB_OPENED ->
                    events.onNext(FromAgent.newBuilder()
                            .setJobOpened(message.getJobOpened().toBuilder()
                                    .setAddress(address)
                                    .setWorkers(workers))
                            .build());
                case STREAM_FAILED -> {
                    StreamFailed failed = message.getStreamFailed();
                    events.onError(Status.fromCodeValue(failed.getStatus())
                            .withDescription(failed.getDescription())
                            .asRuntimeException());
                }
                case DOCTOR_ANSWER -> doctorQueries.answer(reachedHere(message.getDoctorAnswer()));
                case STOP_ASKED ->
                    StopSignal.ofNumber(message.getStopAsked().getSignal()).ifPresent(onSignal);
                default -> events.onNext(message);
            }
        }

        /** Others reach the node as this launcher does. */
        private DoctorAnswer reachedHere(DoctorAnswer answer) {
            if (!answer.hasExamination()) {
                return answer;
            }
            DoctorAnswer.Builder known = answer.toBuilder();
            known.getExaminationBuilder().setReachedAt(address);
            return known.build();
        }

        @Override
        public void onError(Throwable lost) {
            fail("its connection was lost");
            left.complete(null);
        }

        @Override
        public void onCompleted() {
            events.onCompleted();
            doctorQueries.fail(Status.UNAVAILABLE.withDescription("it has ended"));
            left.complete(null);
        }
    }
}
