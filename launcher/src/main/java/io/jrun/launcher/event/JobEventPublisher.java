package io.jrun.launcher.event;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Passes each event of one job to all listeners, in the same order. Thread-safe. */
public final class JobEventPublisher {
    private final List<JobEventListener> listeners = new CopyOnWriteArrayList<>();

    /** Adds a listener for all later events. */
    public void subscribe(JobEventListener listener) {
        listeners.add(listener);
    }

    /** Passes an event to all listeners. */
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
