package io.jrun.launcher.registration;

import io.grpc.Channel;
import io.jrun.launcher.coordinator.Agent;
import io.jrun.launcher.coordinator.AgentRoute;
import io.jrun.launcher.job.StopSignal;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The slot of one node's agent, for the whole job. The coordinator may connect before the agent has arrived. When the
 * coordinator connects a second time, after the loss of the agent, the slot is free for another agent. Thread-safe.
 */
public final class AgentSlot implements AgentRoute, AutoCloseable {
    private final String where;
    private final boolean acceptsUnnamed;
    private volatile Consumer<StopSignal> onSignal = _ -> {};
    private volatile Runnable onReconnect = () -> {};
    private volatile AgentRegistration arrival = new AgentRegistration(this::signal);

    /**
     * A free slot.
     *
     * @param where the name of the node in messages
     * @param acceptsUnnamed whether an agent without a name may take the slot
     */
    AgentSlot(String where, boolean acceptsUnnamed) {
        this.where = where;
        this.acceptsUnnamed = acceptsUnnamed;
    }

    /** The node's agent, for the coordinator. The agent need not have arrived. */
    public Agent agent() {
        return new Agent(where, this, acceptsUnnamed);
    }

    /** The registration of the expected, the connected or the last agent. */
    public AgentRegistration arrival() {
        return arrival;
    }

    /** Sets the receiver of signals that the agent's process got. Without a receiver these signals are ignored. */
    public void onSignal(Consumer<StopSignal> receiver) {
        onSignal = receiver;
    }

    /**
     * Sets the action for a new connection of the coordinator, which needs another agent. The action must not block.
     */
    void onReconnect(Runnable receiver) {
        onReconnect = receiver;
    }

    /** Frees the slot for another agent. Called before the coordinator has connected. */
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

    /** Closes the slot, and ends its agent if it is connected. */
    @Override
    public void close() {
        arrival.close();
    }
}
