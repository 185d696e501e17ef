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
 * Which message goes to which receive: the first that was posted among those that it fits, the first that came among those
 * that fit it. Not thread-safe.
 */
final class MessageMatcher {
    private final GroupContext group;
    private final List<PostedReceive> posted = new ArrayList<>();
    private final List<UnexpectedMessage> early = new ArrayList<>();
    private long earlyBytes;

    MessageMatcher(GroupContext group) {
        this.group = group;
    }

    /** A receive gets the first message that has come for it, or waits for one. */
    void post(PostedReceive receive) {
        for (Iterator<UnexpectedMessage> kept = early.iterator(); kept.hasNext(); ) {
            UnexpectedMessage message = kept.next();
            if (receive.fits(message.source(), message.envelope())) {
                kept.remove();
                deliver(message, receive);
                return;
            }
        }
        posted.add(receive);
    }

    /** A receive waits no more. */
    void forget(PostedReceive receive) {
        posted.remove(receive);
    }

    /** Takes the receive out of those that wait to which a message goes that begins to arrive; null if there is none. */
    @Nullable
    PostedReceive take(int source, long sequence, Envelope envelope) {
        PostedReceive receive = takeFirst(source, envelope);
        if (receive != null && !receive.agrees(envelope)) {
            throw mismatch(source, sequence, envelope, receive);
        }
        return receive;
    }

    /** Whether a message has a receive, or there is room to keep it until it has. */
    boolean canArrive(int source, Envelope envelope) {
        return earlyBytes + envelope.bytes() <= Messages.MAX_UNEXPECTED_BYTES
                || posted.stream().anyMatch(receive -> receive.fits(source, envelope));
    }

    /** A message begins to arrive that is for nobody yet. */
    void reserve(Envelope envelope) {
        earlyBytes += envelope.bytes();
    }

    /** A message that came early has arrived; the receive for it if one has been posted meanwhile, else null. */
    @Nullable
    PostedReceive keep(UnexpectedMessage message) {
        PostedReceive receive = takeFirst(message.source(), message.envelope());
        if (receive == null) {
            early.add(message);
        } else {
            deliver(message, receive);
        }
        return receive;
    }

    private @Nullable PostedReceive takeFirst(int source, Envelope envelope) {
        for (Iterator<PostedReceive> waiting = posted.iterator(); waiting.hasNext(); ) {
            PostedReceive receive = waiting.next();
            if (receive.fits(source, envelope)) {
                waiting.remove();
                return receive;
            }
        }
        return null;
    }

    private void deliver(UnexpectedMessage message, PostedReceive receive) {
        Envelope envelope = message.envelope();
        earlyBytes -= envelope.bytes();
        if (receive.agrees(envelope)) {
            MemorySegment.copy(message.data(), 0, receive.target(envelope), 0, envelope.bytes());
            receive.arrive(message.source(), envelope);
        } else {
            receive.refuse(mismatch(message.source(), message.sequence(), envelope, receive));
        }
    }

    private CommException mismatch(int source, long sequence, Envelope envelope, PostedReceive receive) {
        return new CommException(
                ErrorCode.COLLECTIVE_MISMATCH,
                describe(source) + " called " + envelope.describe(sequence, group.groupRank()) + ", "
                        + describe(group.groupRank()) + " called " + receive.describe() + " on group " + group.name()
                        + ". A message and its receive must have the same type and count.");
    }

    private String describe(int groupRank) {
        return "rank " + group.members().get(groupRank).rank();
    }
}
