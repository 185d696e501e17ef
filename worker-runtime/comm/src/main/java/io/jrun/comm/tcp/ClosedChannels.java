package io.jrun.comm.tcp;

import java.util.LinkedHashSet;
import java.util.Set;

/** The channels that were closed last. A late caller of a closed channel gets an answer. Confined to one thread. */
final class ClosedChannels {
    /** The limit of remembered channels. A caller of an older channel has passed its deadline long ago. */
    static final int MAX = 4096;

    private final Set<Long> channels = new LinkedHashSet<>();

    void add(long channel) {
        channels.add(channel);
        if (channels.size() > MAX) {
            channels.remove(channels.iterator().next());
        }
    }

    boolean contains(long channel) {
        return channels.contains(channel);
    }
}
