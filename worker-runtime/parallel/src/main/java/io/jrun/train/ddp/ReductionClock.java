package io.jrun.train.ddp;

import java.util.ArrayList;
import java.util.List;

/** Measures the times of steps. Confined as {@link GradientReducer}. */
final class ReductionClock {
    private record Launch(long bytes, long nanos) {}

    private final List<Launch> launched = new ArrayList<>();
    private final List<BucketSpan> spans = new ArrayList<>();
    private long stepNanos = System.nanoTime();
    private long backwardNanos;
    private ReductionTimeline last = ReductionTimeline.NONE;
    private long exposedNanos;
    private StepTimes sum = StepTimes.NONE;
    private long steps;

    void stepBegins() {
        stepNanos = System.nanoTime();
    }

    void backwardBegins() {
        backwardNanos = System.nanoTime();
    }

    void launched(long bytes) {
        launched.add(new Launch(bytes, System.nanoTime()));
    }

    /** Records that the next bucket in order of launch holds its result. */
    void finished(BucketReduction reduction) {
        Launch launch = launched.get(spans.size());
        long known = reduction instanceof WorkReduction work ? work.endedNanos() : 0;
        spans.add(new BucketSpan(launch.bytes(), launch.nanos(), known == 0 ? System.nanoTime() : known));
    }

    void reductionEnds() {
        // The last gradient completed the last bucket.
        last = new ReductionTimeline(
                stepNanos, backwardNanos, spans, launched.getLast().nanos(), System.nanoTime());
        exposedNanos += last.exposedNanos();
        sum = sum.plus(StepTimes.of(last));
        steps++;
        spans.clear();
        launched.clear();
    }

    ReductionTimeline last() {
        return last;
    }

    /** Sum over all reductions. */
    long exposedNanos() {
        return exposedNanos;
    }

    StepTimes mean() {
        return sum.dividedBy(Math.max(1, steps));
    }
}
