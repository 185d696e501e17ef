package io.jrun.agent;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.AgentArrived;
import io.jrun.agent.proto.RegistrationGrpc.RegistrationImplBase;
import io.jrun.agent.proto.RegistrationReply;
import io.jrun.agent.proto.RegistrationRequest;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Registers an agent with the launcher at the other end of its connection, one launcher at a time. Thread-safe. */
final class RegistrationService extends RegistrationImplBase {
    private final AtomicReference<@Nullable RegistrationCall> expected = new AtomicReference<>();

    /** The call that the launcher will open on the next connection. Its first message has the identity of the agent. */
    RegistrationCall expect(AgentArrived who) {
        RegistrationCall call = new RegistrationCall(who);
        expected.set(call);
        return call;
    }

    @Override
    public StreamObserver<RegistrationReply> register(StreamObserver<RegistrationRequest> toLauncher) {
        ServerCallStreamObserver<RegistrationRequest> stream =
                (ServerCallStreamObserver<RegistrationRequest>) toLauncher;
        RegistrationCall call = expected.getAndSet(null);
        if (call == null) {
            stream.onError(Status.FAILED_PRECONDITION
                    .withDescription("this agent registers once")
                    .asRuntimeException());
            return new RegistrationCall(AgentArrived.getDefaultInstance());
        }
        call.begin(stream);
        return call;
    }
}
