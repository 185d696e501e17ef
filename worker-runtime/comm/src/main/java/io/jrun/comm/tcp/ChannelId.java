package io.jrun.comm.tcp;

import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Names of lanes on the wire. A lane is a set of connections between members of one group that is used by one thread at a
 * time: a group has one for its collectives and one for each direction of messages between two ranks, since those run
 * concurrently.
 */
final class ChannelId {
    private ChannelId() {}

    /** The lane of a group's collectives; groups of equal name but other members have other lanes. */
    static long ofCollectives(GroupContext group) {
        return ofCollectives(group, 0);
    }

    /** One of several for them; 0 is the above. */
    static long ofCollectives(GroupContext group, int stripe) {
        return hash(group, stripe == 0 ? "collectives" : "collectives " + stripe);
    }

    /** The lane of the messages of one direction. */
    static long ofMessages(GroupContext group, int sender, int receiver) {
        return hash(group, "messages " + sender + ' ' + receiver);
    }

    private static long hash(GroupContext group, String use) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update((group.name() + '\n' + use).getBytes(StandardCharsets.UTF_8));
            for (Peer member : group.members()) {
                digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(0, member.rank()));
            }
            return ByteBuffer.wrap(digest.digest()).getLong();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
