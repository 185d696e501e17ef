package io.jrun.comm.hierarchy;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The backends of which a group's data plane consists. Each backend serves some of the group's members. A failure in
 * one backend is reported to all others at once, by the rank that sees the failure. Thread-safe.
 */
final class SubBackends implements AutoCloseable {
    private record Part(GroupContext context, List<Integer> groupRanks, Backend backend) {}

    private final GroupContext group;
    private final List<Part> parts = new CopyOnWriteArrayList<>();

    SubBackends(GroupContext group) {
        this.group = group;
    }

    /**
     * Makes the context of a part whose ranks are the positions in {@code groupRanks}. The part has the name of the
     * group.
     */
    GroupContext contextOf(List<Integer> groupRanks) {
        List<Peer> members = groupRanks.stream().map(group.members()::get).toList();
        return new GroupContext(
                group.world(),
                group.name(),
                groupRanks.indexOf(group.groupRank()),
                members,
                group.deterministic(),
                group.algorithm(),
                group.lateWarning(),
                group.health().ofPart(),
                group.waits());
    }

    /** Adds a part. The part gets all failures, also earlier ones. {@link #close} closes the part. */
    void add(GroupContext context, List<Integer> groupRanks, Backend backend) {
        Part part = new Part(context, groupRanks, backend);
        parts.add(part);
        updateHealth(part);
    }

    /** Reports a failure of one part to all parts. */
    void failed(CommException cause) {
        group.health().poison(cause);
        healthChanged();
    }

    /** Notifies all parts of a change of the group's health. */
    void healthChanged() {
        parts.forEach(this::updateHealth);
    }

    @Override
    public void close() {
        parts.forEach(part -> part.backend.close());
    }

    private void updateHealth(Part part) {
        CommException cause = group.health().cause();
        if (cause != null) {
            part.context.health().poison(cause);
        }
        for (int rank = 0; rank < part.groupRanks.size(); rank++) {
            String how = group.health().departure(part.groupRanks.get(rank));
            if (how != null) {
                part.context.health().left(rank, how);
            }
        }
        part.backend.healthChanged();
    }
}
