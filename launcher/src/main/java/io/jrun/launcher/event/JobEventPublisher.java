package io.jrun.launcher.event;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Hands each event of one job to all listeners, in one order for all. Thread-safe. */
public final class JobEventPublisher {
    private final List<JobEventListener> listeners = new CopyOnWriteArrayList<>();

    /** From now on {@code listener} gets each event. */
    public void subscribe(JobEventListener listener) {
        listeners.add(listener);
    }

    /** Hands over an event. */
    public synchronized void publish(JobEvent event) {
        long now = System.currentTimeMillis();
        for (JobEventListener listener : listeners) {
            listener.on(now, event);
        }
    }

    /** Publishes a sentence for the user. */
    public void notice(String text) {
        publish(new JobEvent.Notice(text));
    }
}
