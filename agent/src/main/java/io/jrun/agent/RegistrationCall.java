package io.jrun.agent;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentArrived;
import io.jrun.agent.proto.AgentRefused;
import io.jrun.agent.proto.RegistrationReply;
import io.jrun.agent.proto.RegistrationRequest;
import io.jrun.agent.proto.StopRequest;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The registration of an agent with one launcher, from the first message to the end of the job. Thread-safe. */
final class RegistrationCall implements StreamObserver<RegistrationReply> {
    private final AgentArrived who;
    private final CompletableFuture<Status> answer = new CompletableFuture<>();
    private final CompletableFuture<Status> over = new CompletableFuture<>();
    private @Nullable ServerCallStreamObserver<RegistrationRequest> toLauncher;
    private volatile OptionalInt exitCode = OptionalInt.empty();

    RegistrationCall(AgentArrived who) {
        this.who = who;
    }

    /** The launcher has opened the call. */
    synchronized void begin(ServerCallStreamObserver<RegistrationRequest> stream) {
        toLauncher = stream;
        stream.setOnCancelHandler(() -> end(Status.UNAVAILABLE.withDescription("its connection was lost")));
        stream.onNext(RegistrationRequest.newBuilder().setArrived(who).build());
    }

    /** Completes with OK when the launcher accepts this agent, otherwise with the reason. */
    CompletableFuture<Status> answer() {
        return answer;
    }

    /** Completes when the launcher ends this agent (OK), or when the launcher was lost. */
    CompletableFuture<Status> over() {
        return over;
    }

    /** The exit code of the job, if the launcher has sent it. */
    OptionalInt exitCode() {
        return exitCode;
    }

    /** Reports a signal of this process to the launcher. */
    synchronized void sendSignal(int signal) {
        if (toLauncher != null && !over.isDone()) {
            toLauncher.onNext(RegistrationRequest.newBuilder()
                    .setStopRequest(StopRequest.newBuilder().setSignal(signal))
                    .build());
        }
    }

    /** Completes the call: this agent ends. */
    synchronized void complete() {
        if (toLauncher != null && !toLauncher.isCancelled()) {
            toLauncher.onCompleted();
            toLauncher = null;
        }
    }

    @Override
    public void onNext(RegistrationReply reply) {
        switch (reply.getMessageCase()) {
            case WELCOME -> answer.complete(Status.OK);
            case REFUSED -> end(refusal(reply.getRefused()));
            case JOB_EXIT -> exitCode = OptionalInt.of(reply.getJobExit().getExitCode());
            case MESSAGE_NOT_SET -> end(Status.FAILED_PRECONDITION.withDescription("jrun's versions differ"));
        }
    }

    private static Status refusal(AgentRefused refused) {
        return (refused.getRetry() ? Status.UNAVAILABLE : Status.FAILED_PRECONDITION).withDescription(refused.getWhy());
    }

    @Override
    public void onError(Throwable lost) {
        end(Status.UNAVAILABLE.withDescription("its connection was lost"));
    }

    @Override
    public void onCompleted() {
        end(Status.OK);
    }

    private void end(Status status) {
        answer.complete(status.isOk() ? Status.UNAVAILABLE.withDescription("the launcher has just ended") : status);
        over.complete(status);
    }
}
