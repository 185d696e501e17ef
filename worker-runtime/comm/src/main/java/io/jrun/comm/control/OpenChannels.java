package io.jrun.comm.control;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The open agent connections of this process. The set is shared by the process, because the end of the process affects
 * all its ranks. Thread-safe.
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

    /**
     * Reports on each open connection, after the return of main, that this process takes part in no further collective.
     */
    public static void leaveAll() {
        OPEN.forEach(channel -> channel.leaveNow("returned from main"));
    }

    /**
     * Suppresses reports of departures before a failure of the process, because its agent reports how the process
     * ended.
     */
    public static void fail() {
        OPEN.forEach(AgentChannel::suppressLeave);
    }

    private static void closeAll() {
        OPEN.forEach(AgentChannel::close);
    }
}
