package io.jrun.comm;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.record.FlightRecorder;
import io.jrun.comm.record.RecordedGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What all views of a group share: its lanes, its data plane from first use to closing, and its failure. Thread-safe.
 */
final class GroupRuntime {
    private final GroupContext context;
    private final GroupRegistry registry;
    private final FlightRecorder recorder;
    private final RecordedGroup recorded;
    private final Lane collectives;
    private final ConcurrentHashMap<Integer, Lane> sends = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, Lane> receives = new ConcurrentHashMap<>();
    private final Object lifecycle = new Object();
    private volatile @Nullable Backend backend;
    private boolean closed;
    private boolean released;
    private int splits;

    GroupRuntime(GroupContext context, GroupRegistry registry) {
        this.context = context;
        this.registry = registry;
        this.recorder = registry.recorder();
        this.recorded = recorder.group(
                context.name(), context.members().stream().map(Peer::rank).toList());
        this.collectives = new Lane("group " + context.name());
    }

    GroupContext context() {
        return context;
    }

    GroupRegistry registry() {
        return registry;
    }

    GroupHealth health() {
        return context.health();
    }

    FlightRecorder recorder() {
        return recorder;
    }

    RecordedGroup recorded() {
        return recorded;
    }

    /** Where collectives run. */
    Lane collectives() {
        return collectives;
    }

    /** Where the messages to a rank run. */
    Lane sends(int peer) {
        return messages(sends, "to", peer);
    }

    /** Where the messages from a rank run. */
    Lane receives(int peer) {
        return messages(receives, "from", peer);
    }

    private Lane messages(ConcurrentHashMap<Integer, Lane> lanes, String direction, int peer) {
        Lane open = lanes.get(peer);
        if (open != null) {
            return open;
        }
        synchronized (lifecycle) {
            if (closed) {
                throw isClosed();
            }
            return lanes.computeIfAbsent(peer, _ -> new Lane("group " + context.name() + " " + direction + " " + peer));
        }
    }

    /** The number of the next split, alike on all members. */
    synchronized int nextSplit() {
        return splits++;
    }

    /** The data plane, made now if this is its first use. */
    Backend backend() {
        Backend current = backend;
        return current != null ? current : openBackend();
    }

    private Backend openBackend() {
        synchronized (lifecycle) {
            if (released) {
                throw isClosed();
            }
            Backend current = backend;
            if (current == null) {
                current = registry.factory(context.size()).create(context);
                backend = current;
                current.healthChanged();
            }
            return current;
        }
    }

    private CommException isClosed() {
        return Lane.closed("group " + context.name());
    }

    void abort(String cause) {
        if (context.size() > 1 && !health().isImpaired()) {
            Backend _ = backend(); // The others hear of it through the data plane.
        }
        poison(new CommException(
                ErrorCode.ABORTED,
                "group " + context.name() + " was aborted by " + context.describe(context.rank()) + ": " + cause));
    }

    void poison(CommException cause) {
        health().poison(cause);
        healthChanged();
        registry.failed(cause);
    }

    void worldRankLeft(int worldRank, String how) {
        for (int groupRank = 0; groupRank < context.size(); groupRank++) {
            if (context.members().get(groupRank).rank() == worldRank) {
                health().left(groupRank, how);
                healthChanged();
            }
        }
    }

    private void healthChanged() {
        Backend current = backend;
        if (current != null) {
            current.healthChanged();
        }
    }

    /** Lets pending operations end until {@code grace} has passed, then poisons them, and gives everything back. */
    void close(Deadline grace) {
        Lane.refuseWaiting("closing group " + context.name());
        synchronized (lifecycle) {
            if (closed) {
                return;
            }
            closed = true;
        }
        List<Lane> lanes = new ArrayList<>(List.of(collectives));
        lanes.addAll(sends.values());
        lanes.addAll(receives.values());
        lanes.forEach(Lane::close);
        if (!haveEnded(lanes, grace)) {
            poison(new CommException(
                    ErrorCode.ABORTED,
                    "group " + context.name() + " was closed by " + context.describe(context.rank())
                            + " while operations were pending that did not end within a grace of "
                            + grace.timeout().toSeconds()
                            + " s. That rank may be failing, see its log; otherwise await all Work before closing."));
            if (!haveEnded(lanes, Deadline.after(GroupRegistry.CLOSE_GRACE))) {
                throw new CommException(
                        ErrorCode.SYSTEM,
                        "group " + context.name()
                                + " cannot be closed: a continuation of Work.future() has not returned.");
            }
        }
        registry.forget(this);
        release();
    }

    private static boolean haveEnded(List<Lane> lanes, Deadline deadline) {
        return lanes.stream().allMatch(lane -> lane.awaitEnd(deadline));
    }

    private void release() {
        Backend current;
        synchronized (lifecycle) {
            released = true;
            current = backend;
            backend = null;
        }
        if (current != null) {
            current.close();
        }
    }
}
