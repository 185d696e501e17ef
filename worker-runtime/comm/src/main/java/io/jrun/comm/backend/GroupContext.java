package io.jrun.comm.backend;

import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.record.GroupRecord;
import java.time.Duration;
import java.util.List;

/**
 * The properties of a group that its backend uses.
 *
 * @param name name, unique among the groups of a round and equal on all members; ASCII letters, digits, '.' and '-'
 * @param groupRank group rank of this rank
 * @param members members by group rank; {@code Peer.rank()} is the world rank
 * @param deterministic whether floating point results must not depend on transport, topology or the division of the
 *     data: every element is reduced in ascending group rank
 * @param algorithm algorithm over TCP, see {@code GroupOptions.algorithm}
 * @param lateWarning time after which a waiting operation prints a warning, see {@link LateRankWarning}
 * @param health health of the group; shared with the group
 * @param waits statistics of the waits for other ranks; backends add to it
 */
public record GroupContext(
        WorldContext world,
        String name,
        int groupRank,
        List<Peer> members,
        boolean deterministic,
        String algorithm,
        Duration lateWarning,
        GroupHealth health,
        WaitTimes waits) {
    public GroupContext {
        members = List.copyOf(members);
    }

    /** Makes a group that chooses algorithms by size and whose wait statistics are not read. */
    public GroupContext(
            WorldContext world,
            String name,
            int groupRank,
            List<Peer> members,
            boolean deterministic,
            Duration lateWarning,
            GroupHealth health) {
        this(world, name, groupRank, members, deterministic, "", lateWarning, health, new WaitTimes());
    }

    /** Returns the same members with the same health, another name and separate wait statistics. */
    public GroupContext withName(String newName, WaitTimes newWaits) {
        return new GroupContext(
                world, newName, groupRank, members, deterministic, algorithm, lateWarning, health, newWaits);
    }

    /** Returns the group for messages: {@code group world}, or {@code group of ranks 0-3, 6} with world ranks. */
    public String label() {
        return GroupRecord.label(name, members.stream().map(Peer::rank).toList());
    }

    /** Number of members. */
    public int size() {
        return members.size();
    }

    /** Returns the numeric address of each member, by group rank. */
    public List<String> addresses() {
        return members.stream().map(Peer::address).toList();
    }

    /** Describes a member for messages: {@code rank 3 (host node1, pid 4711)}. */
    public String describe(int groupRank) {
        Peer peer = members.get(groupRank);
        return "rank " + peer.rank() + " (host " + peer.host() + ", pid " + peer.pid() + ")";
    }
}
