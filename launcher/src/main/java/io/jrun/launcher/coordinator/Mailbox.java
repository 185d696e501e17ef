package io.jrun.launcher.coordinator;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What other threads tell the coordinator, in order. Messages of agents have a limit in bytes, for all agents together: while
 * more wait, agents are not read. Thread-safe; one thread takes mail out.
 */
final class Mailbox {
    /** An eighth of the launcher's heap of 256 MiB. A message is counted as it was on the wire; as objects it takes several times as much. */
    static final long MAX_BYTES = 32 << 20;

    private record QueuedMessage(CoordinatorMessage mail, int bytes) {}

    private final long maxBytes;
    private final BlockingQueue<QueuedMessage> queue = new LinkedBlockingQueue<>();
    private final List<Runnable> held = new ArrayList<>();
    private long bytes;

    /** @param maxBytes of agents' messages that wait; each agent may exceed it by one message */
    Mailbox(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Adds mail of this process, which has no limit. */
    void add(CoordinatorMessage mail) {
        queue.add(new QueuedMessage(mail, 0));
    }

    /**
     * Adds an agent's message.
     *
     * @param onHold called if the agent has to wait, before {@code readOn}
     * @param readOn reads the agent's next message. It is called once: now, or by the thread that takes mail out when there is room.
     */
    void add(CoordinatorMessage mail, int size, Runnable onHold, Runnable readOn) {
        boolean hasRoom;
        synchronized (this) {
            bytes += size;
            hasRoom = bytes <= maxBytes;
            if (!hasRoom) {
                onHold.run();
                held.add(readOn);
            }
            queue.add(new QueuedMessage(mail, size));
        }
        if (hasRoom) {
            readOn.run();
        }
    }

    /** The oldest mail; null if none comes in time. */
    @Nullable
    CoordinatorMessage poll(long nanos) throws InterruptedException {
        QueuedMessage item = queue.poll(nanos, TimeUnit.NANOSECONDS);
        if (item == null) {
            return null;
        }
        taken(item.bytes()).forEach(Runnable::run);
        return item.mail();
    }

    /** Those who may read on now. Half of the mail must be gone first, so that agents send in larger portions. */
    private synchronized List<Runnable> taken(int size) {
        bytes -= size;
        if (held.isEmpty() || bytes > maxBytes / 2) {
            return List.of();
        }
        List<Runnable> free = List.copyOf(held);
        held.clear();
        return free;
    }
}
