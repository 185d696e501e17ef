package io.jrun.comm.backend;

import io.jrun.comm.control.Frame.Peer;
import java.time.Duration;
import java.util.List;

/**
 * What a backend knows of its group.
 *
 * @param name unique among the groups of a round and equal on all members; ASCII letters, digits, '.' and '-'
 * @param groupRank of this rank
 * @param members by group rank; {@code Peer.rank()} is the world rank
 * @param deterministic whether floating point results must not depend on transport, topology or how data is split: every
 *     element is folded in ascending group rank
 * @param algorithm over TCP, see {@code GroupOptions.algorithm}
 * @param lateWarning how long an operation waits before it says for whom, see {@link LateRankWarning}
 * @param health of the group; shared with the group and alive as long as it
 * @param waits how long this rank waits for the others; backends add to it
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

    /** A group that chooses algorithms by size, and whose waits nobody asks for. */
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

    /** The same members, of one health with this, under another name and with waits of its own. */
    public GroupContext withName(String newName, WaitTimes newWaits) {
        return new GroupContext(
                world, newName, groupRank, members, deterministic, algorithm, lateWarning, health, newWaits);
    }

    /** Number of members. */
    public int size() {
        return members.size();
    }

    /** Where each member is reached, by group rank; numeric. */
    public List<String> addresses() {
        return members.stream().map(Peer::address).toList();
    }

    /** How messages name a member: {@code rank 3 (host node1, pid 4711)}. */
    public String describe(int groupRank) {
        Peer peer = members.get(groupRank);
        return "rank " + peer.rank() + " (host " + peer.host() + ", pid " + peer.pid() + ")";
    }
}
