package io.jrun.comm.message;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Messages;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.GroupContext;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Matches messages with receives. A message goes to the first posted receive that matches the message. A receive takes
 * the first message that matches the receive. Not thread-safe.
 */
final class MessageMatcher {
    private final GroupContext group;
    private final List<PostedReceive> posted = new ArrayList<>();
    private final List<UnexpectedMessage> unexpected = new ArrayList<>();
    private long unexpectedBytes;

    MessageMatcher(GroupContext group) {
        this.group = group;
    }

    /** Gives the receive the first unexpected message that matches, or adds the receive to the posted receives. */
    void post(PostedReceive receive) {
        for (Iterator<UnexpectedMessage> kept = unexpected.iterator(); kept.hasNext(); ) {
            UnexpectedMessage message = kept.next();
            if (receive.matches(message.source(), message.envelope())) {
                kept.remove();
                deliver(message, receive);
                return;
            }
        }
        posted.add(receive);
    }

    /** Removes a receive that waits no more. */
    void remove(PostedReceive receive) {
        posted.remove(receive);
    }

    /** Removes and returns the posted receive of a message that begins to arrive; null if no receive matches. */
    @Nullable
    PostedReceive take(int source, long sequence, Envelope envelope) {
        PostedReceive receive = takeFirst(source, envelope);
        if (receive != null && !receive.hasTypeAndCountOf(envelope)) {
            throw mismatch(source, sequence, envelope, receive);
        }
        return receive;
    }

    /** Whether a message has a receive, or there is room to keep the message. */
    boolean canArrive(int source, Envelope envelope) {
        return unexpectedBytes + envelope.bytes() <= Messages.MAX_UNEXPECTED_BYTES
                || posted.stream().anyMatch(receive -> receive.matches(source, envelope));
    }

    /** Reserves room for a message without a receive that begins to arrive. */
    void reserve(Envelope envelope) {
        unexpectedBytes += envelope.bytes();
    }

    /**
     * Keeps a message without a receive that has arrived. Returns the receive if one has been posted meanwhile, else
     * null.
     */
    @Nullable
    PostedReceive keep(UnexpectedMessage message) {
        PostedReceive receive = takeFirst(message.source(), message.envelope());
        if (receive == null) {
            unexpected.add(message);
        } else {
            deliver(message, receive);
        }
        return receive;
    }

    private @Nullable PostedReceive takeFirst(int source, Envelope envelope) {
        for (Iterator<PostedReceive> waiting = posted.iterator(); waiting.hasNext(); ) {
            PostedReceive receive = waiting.next();
            if (receive.matches(source, envelope)) {
                waiting.remove();
                return receive;
            }
        }
        return null;
    }

    private void deliver(UnexpectedMessage message, PostedReceive receive) {
        Envelope envelope = message.envelope();
        unexpectedBytes -= envelope.bytes();
        if (receive.hasTypeAndCountOf(envelope)) {
            MemorySegment.copy(message.data(), 0, receive.target(envelope), 0, envelope.bytes());
            receive.arrive(message.source(), envelope);
        } else {
            receive.reject(mismatch(message.source(), message.sequence(), envelope, receive));
        }
    }

    private CommException mismatch(int source, long sequence, Envelope envelope, PostedReceive receive) {
        return new CommException(
                ErrorCode.COLLECTIVE_MISMATCH,
                describe(source) + " called " + envelope.describe(sequence, group.groupRank()) + ", "
                        + describe(group.groupRank()) + " called " + receive.describe() + " on " + group.label()
                        + ". A message and its receive must have the same type and count.");
    }

    private String describe(int groupRank) {
        return "rank " + group.members().get(groupRank).rank();
    }
}
