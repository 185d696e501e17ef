package io.jrun.comm.tcp;

import java.util.LinkedHashSet;
import java.util.Set;

/** The lanes that were closed last, so that late callers hear of it. Confined to one thread. */
final class ClosedChannels {
    /** Whoever calls a lane after so many others have been closed has long passed its deadline. */
    static final int MAX = 4096;

    private final Set<Long> lanes = new LinkedHashSet<>();

    void add(long lane) {
        lanes.add(lane);
        if (lanes.size() > MAX) {
            lanes.remove(lanes.iterator().next());
        }
    }

    boolean contains(long lane) {
        return lanes.contains(lane);
    }
}
