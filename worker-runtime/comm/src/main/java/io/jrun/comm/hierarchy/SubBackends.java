package io.jrun.comm.hierarchy;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The backends that a group's data plane is made of, each over some of the group's members, and what they must know of each
 * other: a failure in one is told to all, at once, whoever sees it first. Thread-safe.
 */
final class SubBackends implements AutoCloseable {
    private record Part(GroupContext context, List<Integer> groupRanks, Backend backend) {}

    private final GroupContext group;
    private final List<Part> parts = new CopyOnWriteArrayList<>();

    SubBackends(GroupContext group) {
        this.group = group;
    }

    /** The view of a part, whose ranks are the places in {@code groupRanks}; its name and members' names are the group's. */
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

    /** From now on the part is told, also of what has happened before; this closes it. */
    void add(GroupContext context, List<Integer> groupRanks, Backend backend) {
        Part part = new Part(context, groupRanks, backend);
        parts.add(part);
        tell(part);
    }

    /** The group has failed in one of its parts. */
    void failed(CommException cause) {
        group.health().poison(cause);
        healthChanged();
    }

    /** The group's health has changed. */
    void healthChanged() {
        parts.forEach(this::tell);
    }

    @Override
    public void close() {
        parts.forEach(part -> part.backend.close());
    }

    private void tell(Part part) {
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
