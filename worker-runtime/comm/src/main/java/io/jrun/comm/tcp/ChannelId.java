package io.jrun.comm.tcp;

import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * Numbers of channels on the wire. A channel is a set of connections between members of one group that one thread at a
 * time uses. A group has one channel for its collectives and one for each direction of messages between two ranks,
 * because these run concurrently.
 */
final class ChannelId {
    private ChannelId() {}

    /** Returns the channel of a group's collectives. Groups of equal name but other members have other channels. */
    static long ofCollectives(GroupContext group) {
        return ofCollectives(group, 0);
    }

    /** Returns one of several channels of a group's collectives. Stripe 0 is {@link #ofCollectives(GroupContext)}. */
    static long ofCollectives(GroupContext group, int stripe) {
        return hash(group, stripe == 0 ? "collectives" : "collectives " + stripe);
    }

    /** Returns the channel of the messages of one direction. */
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
