package io.jrun.train.data;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** One batch that a background thread reads. */
final class BatchReading<S> {
    private final Dataset<S> dataset;
    private final long[] samples;
    private final DataLoaderState stateAfter;
    /** The place in {@link #samples} of the sample that is read now. */
    private volatile int current;

    private final Future<List<S>> result;

    private BatchReading(Dataset<S> dataset, long[] samples, DataLoaderState stateAfter, ExecutorService threads) {
        this.dataset = dataset;
        this.samples = samples;
        this.stateAfter = stateAfter;
        this.result = threads.submit(this::read);
    }

    static <S> BatchReading<S> begin(
            Dataset<S> dataset, long[] samples, DataLoaderState stateAfter, ExecutorService threads) {
        return new BatchReading<>(dataset, samples, stateAfter, threads);
    }

    DataLoaderState stateAfter() {
        return stateAfter;
    }

    /** The sample that is read now, or that could not be read. */
    long sample() {
        return samples[current];
    }

    boolean isReady() {
        return result.isDone();
    }

    List<S> batch(Duration deadline) throws InterruptedException, ExecutionException, TimeoutException {
        return result.get(deadline.toNanos(), TimeUnit.NANOSECONDS);
    }

    private List<S> read() throws IOException {
        List<S> batch = new ArrayList<>(samples.length);
        for (int i = 0; i < samples.length; i++) {
            current = i;
            batch.add(dataset.get(samples[i]));
        }
        return batch;
    }
}
