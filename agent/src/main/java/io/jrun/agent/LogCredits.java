package io.jrun.agent;

import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentGrpc;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;

/**
 * The launcher's credit for log output on its way to the agent, whose log stream is opened with the first one: before that
 * there is no job. Called by one thread at a time.
 */
final class LogCredits implements StreamObserver<LogCredit> {
    private final AgentGrpc.AgentStub agent;
    private final StreamObserver<LogChunk> chunks;
    private final Relay<LogCredit> credits = new Relay<>();
    private boolean opened;

    /** @param chunks takes the agent's output */
    LogCredits(AgentGrpc.AgentStub agent, StreamObserver<LogChunk> chunks) {
        this.agent = agent;
        this.chunks = chunks;
    }

    @Override
    public void onNext(LogCredit credit) {
        if (!opened) {
            opened = true;
            credits.to(agent.logs(chunks));
        }
        credits.onNext(credit);
    }

    @Override
    public void onError(Throwable lost) {
        credits.onCompleted();
    }

    @Override
    public void onCompleted() {
        credits.onCompleted();
    }
}
