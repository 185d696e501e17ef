package io.jrun.launcher.coordinator;

import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventPublisher;
import java.util.Optional;

/** Publishes each failure once, when it becomes the cause of a stop. Confined to the coordinator's thread. */
final class FailureEvents {
    private final JobEventPublisher events;
    private Optional<StopCause> last = Optional.empty();
    private int round;

    FailureEvents(JobEventPublisher events) {
        this.events = events;
    }

    /** Publishes the failure of {@code state}, the current state of the job, if it is new. */
    void publish(JobState state) {
        keepRound(state);
        Optional<StopCause> cause = state.cause();
        if (cause.isPresent() && !cause.equals(last)) {
            events.publish(new JobEvent.FailureDetected(round, cause.get().failure()));
        }
        last = cause;
    }

    private void keepRound(JobState state) {
        if (state instanceof JobState.RoundRunning running) {
            round = running.round().number();
        }
    }
}
