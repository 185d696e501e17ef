package io.jrun.train.data;

import java.time.Duration;

/**
 * The options of a {@link DataLoader}.
 *
 * @param batch samples of one batch of one rank
 * @param order the order of the samples, and the treatment of the last batch: {@link Remainder#DROP} leaves out an
 *     incomplete global batch, the others give shorter batches at the end of an epoch
 * @param threads threads that read; each reads one batch at a time
 * @param prefetch batches that are read before the program asks for them
 * @param deadline longest wait for one batch
 */
public record DataLoaderOptions(int batch, SamplerOptions order, int threads, int prefetch, Duration deadline) {
    /** Longer than the retries of a network file system, and short enough for a user who waits for the error. */
    private static final Duration DEFAULT_DEADLINE = Duration.ofMinutes(2);

    /** Checks the range. */
    public DataLoaderOptions {
        if (batch < 1 || threads < 1 || prefetch < 1 || !deadline.isPositive()) {
            throw new IllegalArgumentException("batch, threads, prefetch and deadline must be above zero, were " + batch
                    + ", " + threads + ", " + prefetch + " and " + deadline);
        }
    }

    /** For training: shuffled, complete global batches only, one thread, two batches ahead. */
    public static DataLoaderOptions training(int batch, long seed) {
        return of(batch, SamplerOptions.TRAINING.withSeed(seed).withRemainder(Remainder.DROP));
    }

    /** For evaluation: in order, each sample exactly once over all ranks. */
    public static DataLoaderOptions evaluation(int batch) {
        return of(batch, SamplerOptions.EVALUATION);
    }

    private static DataLoaderOptions of(int batch, SamplerOptions order) {
        return new DataLoaderOptions(batch, order, 1, 2, DEFAULT_DEADLINE);
    }

    /** The same with another order. */
    public DataLoaderOptions withOrder(SamplerOptions newOrder) {
        return new DataLoaderOptions(batch, newOrder, threads, prefetch, deadline);
    }

    /** The same with other threads. */
    public DataLoaderOptions withThreads(int newThreads, int newPrefetch) {
        return new DataLoaderOptions(batch, order, newThreads, newPrefetch, deadline);
    }

    /** The same with another deadline. */
    public DataLoaderOptions withDeadline(Duration newDeadline) {
        return new DataLoaderOptions(batch, order, threads, prefetch, newDeadline);
    }
}
