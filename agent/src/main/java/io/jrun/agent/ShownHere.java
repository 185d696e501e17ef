package io.jrun.agent;

import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import java.util.function.Consumer;

/**
 * The log stream of an agent whose own process shows the output: it gives the credit, and the launcher hears only which
 * streams have ended. Called by one thread at a time.
 */
final class ShownHere implements StreamObserver<LogChunk> {
    private final Consumer<LogChunk> console;
    private final StreamObserver<LogChunk> toLauncher;
    private final Relay<LogCredit> credits = new Relay<>();

    /**
     * To be given to the agent's call of Logs.
     *
     * @param console shows a chunk before it returns
     */
    ShownHere(Consumer<LogChunk> console, StreamObserver<LogChunk> toLauncher) {
        this.console = console;
        this.toLauncher = toLauncher;
    }

    /** Takes credit to the agent: the launcher's first, then what was shown. */
    Relay<LogCredit> credits() {
        return credits;
    }

    @Override
    public void onNext(LogChunk chunk) {
        console.accept(chunk);
        if (chunk.getLast()) {
            toLauncher.onNext(chunk);
        }
        int bytes = chunk.getData().size();
        if (bytes > 0) {
            credits.onNext(LogCredit.newBuilder().setBytes(bytes).build());
        }
    }

    @Override
    public void onError(Throwable lost) {
        toLauncher.onError(lost);
    }

    @Override
    public void onCompleted() {
        toLauncher.onCompleted();
    }
}
