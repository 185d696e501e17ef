package io.jrun.launcher.trace;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Chooses the thread of each slice of a track: the slices of one thread must lie apart or one inside the other. Takes
 * the slices in the order of their begins, the longest first. Confined to one thread.
 */
final class Lanes {
    private final List<Deque<Long>> ends = new ArrayList<>();

    /** The number of the first thread that has room for the slice, from 0. */
    int take(long begin, long end) {
        for (int lane = 0; lane < ends.size(); lane++) {
            Deque<Long> open = ends.get(lane);
            while (!open.isEmpty() && open.peek() <= begin) {
                open.pop();
            }
            if (open.isEmpty() || open.peek() >= end) {
                open.push(end);
                return lane;
            }
        }
        Deque<Long> open = new ArrayDeque<>();
        open.push(end);
        ends.add(open);
        return ends.size() - 1;
    }
}
