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

    /** Main has returned: says on every open connection that this process takes part in no further collective. */
    public static void leaveAll() {
        OPEN.forEach(channel -> channel.leaveNow("returned from main"));
    }

    /** For a process that is about to fail: nobody hears that it "left", since its agent tells what became of it. */
    public static void fail() {
        OPEN.forEach(AgentChannel::neverLeave);
    }

    private static void closeAll() {
        OPEN.forEach(AgentChannel::close);
    }
}
