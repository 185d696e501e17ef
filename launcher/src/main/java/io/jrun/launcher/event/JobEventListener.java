package io.jrun.launcher.event;

/** A consumer of the events of one job. */
@FunctionalInterface
public interface JobEventListener {
    /**
     * An event has happened. The publisher calls this method from one thread at a time. The method must not wait.
     *
     * @param timeMillis wall clock of the launcher, since 1970
     */
    void on(long timeMillis, JobEvent event);
}
