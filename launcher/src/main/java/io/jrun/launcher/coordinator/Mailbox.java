package io.jrun.launcher.coordinator;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The messages of other threads to the coordinator, in order. The messages of all agents together have a limit in
 * bytes. Above the limit the launcher does not read from agents. Thread-safe; one thread removes messages.
 */
final class Mailbox {
    /**
     * An eighth of the launcher's heap of 256 MiB. The limit counts encoded bytes; the objects take several times as
     * much.
     */
    static final long MAX_BYTES = 32 << 20;

    private record QueuedMessage(CoordinatorMessage message, int bytes) {}

    private final long maxBytes;
    private final BlockingQueue<QueuedMessage> queue = new LinkedBlockingQueue<>();
    private final List<Runnable> held = new ArrayList<>();
    private long bytes;

    /** @param maxBytes limit of the waiting messages of agents; each agent may exceed the limit by one message */
    Mailbox(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Adds a message of this process, without a limit. */
    void add(CoordinatorMessage message) {
        queue.add(new QueuedMessage(message, 0));
    }

    /**
     * Adds an agent's message.
     *
     * @param onHold called before {@code readOn} if the agent has to wait
     * @param readOn reads the agent's next message. Called once: now, or by the removing thread when there is room.
     */
    void add(CoordinatorMessage message, int size, Runnable onHold, Runnable readOn) {
        boolean hasRoom;
        synchronized (this) {
            bytes += size;
            hasRoom = bytes <= maxBytes;
            if (!hasRoom) {
                onHold.run();
                held.add(readOn);
            }
            queue.add(new QueuedMessage(message, size));
        }
        if (hasRoom) {
            readOn.run();
        }
    }

    /** Removes and returns the oldest message; null if no message arrives in time. */
    @Nullable
    CoordinatorMessage poll(long nanos) throws InterruptedException {
        QueuedMessage item = queue.poll(nanos, TimeUnit.NANOSECONDS);
        if (item == null) {
            return null;
        }
        taken(item.bytes()).forEach(Runnable::run);
        return item.message();
    }

    /**
     * The agents that may continue to send. Half of the limit must be free first, so that agents send in larger
     * portions.
     */
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
