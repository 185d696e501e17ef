package io.jrun.train.reducer;

import java.time.Duration;

/**
 * The times of the parts of a step, like torch's {@code DDPLoggingData}.
 *
 * @param forward from the begin of the step to the begin of the backward pass
 * @param backward from the begin of the backward pass to the last gradient
 * @param communication from the launch of the first bucket to the end of the last bucket
 * @param overlap the part of the communication that ran before the last gradient
 * @param exposed the part of the communication after the last gradient, for which the step waited
 */
public record StepTimes(
        Duration forward, Duration backward, Duration communication, Duration overlap, Duration exposed) {
    static final StepTimes NONE =
            new StepTimes(Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ZERO);

    static StepTimes of(ReductionTimeline timeline) {
        return new StepTimes(
                Duration.ofNanos(timeline.forwardNanos()),
                Duration.ofNanos(timeline.backwardComputeNanos()),
                Duration.ofNanos(timeline.communicationNanos()),
                Duration.ofNanos(timeline.overlapNanos()),
                Duration.ofNanos(timeline.exposedNanos()));
    }

    StepTimes plus(StepTimes other) {
        return new StepTimes(
                forward.plus(other.forward),
                backward.plus(other.backward),
                communication.plus(other.communication),
                overlap.plus(other.overlap),
                exposed.plus(other.exposed));
    }

    StepTimes dividedBy(long steps) {
        return new StepTimes(
                forward.dividedBy(steps),
                backward.dividedBy(steps),
                communication.dividedBy(steps),
                overlap.dividedBy(steps),
                exposed.dividedBy(steps));
    }
}
