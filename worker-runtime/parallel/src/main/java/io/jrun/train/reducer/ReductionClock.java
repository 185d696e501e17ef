package io.jrun.train.reducer;

import java.util.ArrayList;
import java.util.List;

/** Measures the times of steps. Confined as {@link GradientReducer}. */
public final class ReductionClock {
    private record Launch(long bytes, long nanos) {}

    private final List<Launch> launched = new ArrayList<>();
    private final List<BucketSpan> spans = new ArrayList<>();
    private long stepNanos = System.nanoTime();
    private long backwardNanos;
    private ReductionTimeline last = ReductionTimeline.NONE;
    private long exposedNanos;
    private long waitedNanos;
    private long reducedBytes;
    private StepTimes sum = StepTimes.NONE;
    private long steps;

    /** The forward pass begins. */
    public void stepBegins() {
        stepNanos = System.nanoTime();
    }

    void backwardBegins() {
        backwardNanos = System.nanoTime();
    }

    void launched(long bytes) {
        launched.add(new Launch(bytes, System.nanoTime()));
        exposedNanos += waitedNanos;
        waitedNanos = 0;
        reducedBytes += bytes;
    }

    /** Counts the time of a wait within a backward pass. A wait after the last launch counts as the end of the pass. */
    void waits(Runnable wait) {
        long begin = System.nanoTime();
        wait.run();
        waitedNanos += System.nanoTime() - begin;
    }

    /** Records that the next bucket in order of launch holds its result. */
    void finished(BucketReduction reduction) {
        Launch launch = launched.get(spans.size());
        long known = reduction instanceof WorkReduction work ? work.endedNanos() : 0;
        spans.add(new BucketSpan(launch.bytes(), launch.nanos(), known == 0 ? System.nanoTime() : known));
    }

    void reductionEnds() {
        waitedNanos = 0;
        long now = System.nanoTime();
        // The last gradient completed the last bucket.
        long lastGradient = launched.isEmpty() ? now : launched.getLast().nanos();
        last = new ReductionTimeline(stepNanos, backwardNanos, spans, lastGradient, now);
        exposedNanos += last.exposedNanos();
        sum = sum.plus(StepTimes.of(last));
        steps++;
        spans.clear();
        launched.clear();
    }

    /** The times of the last reduction. */
    public ReductionTimeline last() {
        return last;
    }

    /** The time for which all reductions so far have waited for communication. */
    public long exposedNanos() {
        return exposedNanos;
    }

    /** The bytes of the buckets of all reductions so far. */
    public long reducedBytes() {
        return reducedBytes;
    }

    /** The mean times of all reductions so far. */
    public StepTimes mean() {
        return sum.dividedBy(Math.max(1, steps));
    }
}
