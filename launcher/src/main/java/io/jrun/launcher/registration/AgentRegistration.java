package io.jrun.launcher.registration;

import io.grpc.Channel;
import io.grpc.Status;
import io.jrun.launcher.job.StopSignal;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One agent in its {@link AgentSlot}, from the expectation to the end of the agent. Thread-safe. */
public final class AgentRegistration implements AutoCloseable {
    private final Consumer<StopSignal> onSignal;
    private final AtomicBoolean called = new AtomicBoolean();
    private final AtomicBoolean taken = new AtomicBoolean();
    private final CompletableFuture<Void> arrived = new CompletableFuture<>();
    private final CompletableFuture<Void> left = new CompletableFuture<>();
    private final CompletableFuture<Channel> channel = new CompletableFuture<>();
    private @Nullable ArrivingAgent agent;
    private boolean closed;
    private boolean lost;

    /** @param onSignal receives signals that the agent's process got */
    AgentRegistration(Consumer<StopSignal> onSignal) {
        this.onSignal = onSignal;
    }

    /** Completes when the agent has arrived. */
    public CompletableFuture<Void> arrived() {
        return arrived;
    }

    /** Completes when an agent that had arrived was lost, or was released by the coordinator. */
    public CompletableFuture<Void> left() {
        return left;
    }

    /** Whether an agent has arrived and has not left. */
    public boolean isPresent() {
        return arrived.isDone() && !left.isDone();
    }

    /** Returns true for the first call of the coordinator only. */
    boolean call() {
        return called.compareAndSet(false, true);
    }

    /** Completes with the channel when the agent has arrived. Fails with the reason if the agent will not arrive. */
    CompletableFuture<Channel> channel() {
        return channel;
    }

    /** The agent will not arrive. The coordinator reports "cannot be reached" and this reason. */
    void fail(String why) {
        channel.completeExceptionally(Status.UNAVAILABLE.withDescription(why).asRuntimeException());
    }

    /** The agent has another version. The coordinator reports that the agent refuses the job. */
    void refuse(String why) {
        channel.completeExceptionally(
                Status.FAILED_PRECONDITION.withDescription(why).asRuntimeException());
    }

    /** Returns true for the first arriving agent only. */
    boolean take() {
        return taken.compareAndSet(false, true);
    }

    /** The agent has arrived and was accepted. */
    void arrive(ArrivingAgent arriving) {
        synchronized (this) {
            agent = arriving;
            if (closed) {
                arriving.end(OptionalInt.empty());
            }
        }
        arrived.complete(null);
        channel.complete(arriving.channel());
    }

    /** The agent's process received a signal. */
    void signal(StopSignal signal) {
        onSignal.accept(signal);
    }

    /** The agent was lost, or the coordinator has released it. */
    void leave() {
        synchronized (this) {
            lost |= !closed;
        }
        left.complete(null);
    }

    /** Whether the agent left before the launcher ended it. */
    synchronized boolean isLost() {
        return lost;
    }

    /** Sends the exit code of the job to the agent, if it is connected, and ends the agent. */
    void sendExitCode(int exitCode) {
        end(OptionalInt.of(exitCode));
    }

    /** Ends the agent, if it is connected. */
    @Override
    public void close() {
        end(OptionalInt.empty());
    }

    private synchronized void end(OptionalInt exitCode) {
        if (agent != null && !closed) {
            agent.end(exitCode);
        }
        closed = true;
    }
}
