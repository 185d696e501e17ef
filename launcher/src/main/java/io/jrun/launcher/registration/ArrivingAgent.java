package io.jrun.launcher.registration;

import io.grpc.ManagedChannel;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.jrun.agent.AgentListener.DialedAgent;
import io.jrun.agent.proto.AgentArrived;
import io.jrun.agent.proto.AgentRefused;
import io.jrun.agent.proto.AgentWelcome;
import io.jrun.agent.proto.JobExit;
import io.jrun.agent.proto.RegistrationGrpc;
import io.jrun.agent.proto.RegistrationReply;
import io.jrun.agent.proto.RegistrationRequest;
import io.jrun.launcher.job.StopSignal;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The registration call to an agent that has connected: receives the identity of the agent, and ends the agent after
 * the job. Thread-safe.
 */
final class ArrivingAgent implements ClientResponseObserver<RegistrationReply, RegistrationRequest> {
    private final DialedAgent dialed;
    private final BiFunction<ArrivingAgent, AgentArrived, AgentRegistration> slots;
    private @Nullable ClientCallStreamObserver<RegistrationReply> toAgent;
    private volatile @Nullable AgentRegistration registration;
    private boolean ended;

    private ArrivingAgent(DialedAgent dialed, BiFunction<ArrivingAgent, AgentArrived, AgentRegistration> slots) {
        this.dialed = dialed;
        this.slots = slots;
    }

    /** Opens the call. {@code slots} finds the slot of the agent, or throws {@link RegistrationRefusedException}. */
    static void register(DialedAgent dialed, BiFunction<ArrivingAgent, AgentArrived, AgentRegistration> slots) {
        var _ = RegistrationGrpc.newStub(dialed.channel()).register(new ArrivingAgent(dialed, slots));
    }

    @Override
    public synchronized void beforeStart(ClientCallStreamObserver<RegistrationReply> stream) {
        toAgent = stream;
    }

    /** The reason why an agent is refused. */
    static final class RegistrationRefusedException extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private final boolean retry;

        /** @param retry whether the agent may try again */
        RegistrationRefusedException(String why, boolean retry) {
            super(why);
            this.retry = retry;
        }
    }

    /** The channel to the agent. */
    ManagedChannel channel() {
        return dialed.channel();
    }

    /** The numeric address of the agent's end of the connection. */
    String address() {
        return dialed.address();
    }

    @Override
    public void onNext(RegistrationRequest message) {
        AgentRegistration known = registration;
        if (message.hasArrived() && known == null) {
            arrived(message.getArrived());
        } else if (message.hasStopRequest() && known != null) {
            StopSignal.ofNumber(message.getStopRequest().getSignal()).ifPresent(known::signal);
        }
    }

    private void arrived(AgentArrived who) {
        try {
            AgentRegistration found = slots.apply(this, who);
            registration = found;
            send(RegistrationReply.newBuilder()
                    .setWelcome(AgentWelcome.getDefaultInstance())
                    .build());
            found.arrive(this);
        } catch (RegistrationRefusedException e) {
            send(RegistrationReply.newBuilder()
                    .setRefused(AgentRefused.newBuilder().setWhy(e.getMessage()).setRetry(e.retry))
                    .build());
            end(OptionalInt.empty());
        }
    }

    private synchronized void send(RegistrationReply message) {
        if (!ended) {
            Objects.requireNonNull(toAgent).onNext(message);
        }
    }

    /** Sends the exit code of the job to the agent, if there is one, and ends the agent. */
    synchronized void end(OptionalInt exitCode) {
        exitCode.ifPresent(code -> send(RegistrationReply.newBuilder()
                .setJobExit(JobExit.newBuilder().setExitCode(code))
                .build()));
        if (!ended) {
            ended = true;
            Objects.requireNonNull(toAgent).onCompleted();
        }
    }

    @Override
    public void onError(Throwable lost) {
        gone();
    }

    @Override
    public void onCompleted() {
        gone();
    }

    private void gone() {
        synchronized (this) {
            ended = true;
        }
        AgentRegistration known = registration;
        if (known != null) {
            known.leave();
        }
        dialed.channel().shutdown();
    }
}
