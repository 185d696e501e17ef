package io.jrun.launcher.registration;

import io.grpc.Channel;
import io.jrun.launcher.coordinator.Agent;
import io.jrun.launcher.coordinator.AgentRoute;
import io.jrun.launcher.job.StopSignal;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The place of one node's agent, for the whole job. The coordinator may connect before the agent has arrived. When the
 * coordinator connects a second time, after the agent was lost, the place is free for another agent. Thread-safe.
 */
public final class AgentSlot implements AgentRoute, AutoCloseable {
    private final String where;
    private final boolean forAnybody;
    private volatile Consumer<StopSignal> onSignal = _ -> {};
    private volatile Runnable onReconnect = () -> {};
    private volatile AgentRegistration arrival = new AgentRegistration(this::signal);

    /**
     * A free place.
     *
     * @param where what messages call the node
     * @param forAnybody whether any node may take the place
     */
    AgentSlot(String where, boolean forAnybody) {
        this.where = where;
        this.forAnybody = forAnybody;
    }

    /** The node's agent, for the coordinator; it need not have arrived. */
    public Agent agent() {
        return new Agent(where, this, forAnybody);
    }

    /** The agent that is expected, is here, or was here last. */
    public AgentRegistration arrival() {
        return arrival;
    }

    /** Sets who takes signals that the node's own process gets; nobody if not set. */
    public void onSignal(Consumer<StopSignal> receiver) {
        onSignal = receiver;
    }

    /**
     * Sets what runs, on a thread that must not wait, when the coordinator connects again and another agent is
     * expected.
     */
    void onReconnect(Runnable receiver) {
        onReconnect = receiver;
    }

    /** Expects another agent instead of one that has left; before the coordinator has connected. */
    public synchronized void renew() {
        arrival.close();
        arrival = new AgentRegistration(this::signal);
    }

    private void signal(StopSignal signal) {
        onSignal.accept(signal);
    }

    @Override
    public synchronized CompletableFuture<Channel> connect() {
        if (!arrival.call()) {
            renew();
            boolean _ = arrival.call();
            onReconnect.run();
        }
        return arrival.channel();
    }

    @Override
    public void release() {
        arrival.leave();
    }

    @Override
    public boolean isOpenedByAgent() {
        return true;
    }

    /** Takes the place away; the agent, if it is there, ends. */
    @Override
    public void close() {
        arrival.close();
    }
}
