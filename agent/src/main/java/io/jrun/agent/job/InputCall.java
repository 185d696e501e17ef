package io.jrun.agent.job;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.node.NodeProbe;
import io.jrun.agent.proto.InputCredit;
import io.jrun.agent.proto.InputPiece;
import io.jrun.agent.proto.JobClaim;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The call that carries the launcher's standard input. gRPC calls it from one thread at a time. */
final class InputCall implements StreamObserver<InputPiece> {
    private final ResponseStream<InputCredit> out;
    private final Function<JobClaim, Job> jobs;
    private @Nullable WorkerInput input;

    /** @param jobs finds the job of a claim, or throws the status with which the call fails */
    InputCall(ServerCallStreamObserver<InputCredit> stream, Function<JobClaim, Job> jobs) {
        this.out = new ResponseStream<>(stream, NodeProbe.hostHere(), ResponseStream.MOST_BYTES);
        this.jobs = jobs;
        stream.setOnCancelHandler(this::end);
    }

    @Override
    public void onNext(InputPiece piece) {
        WorkerInput attached = input;
        if (attached == null) {
            attach(piece.getJob());
        } else if (!attached.add(piece.getData())) {
            out.fail(Status.RESOURCE_EXHAUSTED
                    .withDescription("more input than the agent has requested")
                    .asRuntimeException());
            end();
        }
    }

    private void attach(JobClaim claim) {
        try {
            WorkerInput claimed = jobs.apply(claim).input();
            input = claimed;
            claimed.attach(
                    bytes -> out.send(InputCredit.newBuilder().setBytes(bytes).build()), out::complete);
        } catch (StatusRuntimeException e) {
            out.fail(e);
        }
    }

    @Override
    public void onError(Throwable lost) {
        end();
    }

    @Override
    public void onCompleted() {
        end();
    }

    private void end() {
        WorkerInput attached = input;
        if (attached != null) {
            attached.end();
        }
    }
}
