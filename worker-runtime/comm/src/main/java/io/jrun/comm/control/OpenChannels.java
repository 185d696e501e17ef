package io.jrun.comm.control;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The agent connections of this process that are open: they belong to the process rather than to a rank, since it is the
 * process that ends. Thread-safe.
 */
public final class OpenChannels {
    private static final Set<AgentChannel> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(OpenChannels::closeAll, "agent-channels-close"));
    }

    private OpenChannels() {}

    static void add(AgentChannel channel) {
        OPEN.add(channel);
    }

    static void remove(AgentChannel channel) {
        OPEN.remove(channel);
    }

    /** Main has returned. Says on each open connection that this process takes part in no further collective. */
    public static void leaveAll() {
        OPEN.forEach(channel -> channel.leaveNow("returned from main"));
    }

    /** The process is about to fail. No rank hears that this process "left", since its agent will say how it ended. */
    public static void fail() {
        OPEN.forEach(AgentChannel::neverLeave);
    }

    private static void closeAll() {
        OPEN.forEach(AgentChannel::close);
    }
}
