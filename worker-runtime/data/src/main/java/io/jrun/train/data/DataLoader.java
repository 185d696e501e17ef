package io.jrun.train.data;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.timeline.Timeline;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Reads the batches of one rank in background threads, before the program asks for them. Epochs follow each other
 * without end. The stream of samples depends only on the dataset, the options, the number of ranks and the {@link
 * DataLoaderState}.
 *
 * <p>With {@link Remainder#REPEAT} the batches equal those of torch's {@code DataLoader} with a {@code
 * DistributedSampler}. With {@link Remainder#DROP} they equal those of torch with {@code drop_last=True} in both.
 *
 * <p>At most {@link DataLoaderOptions#prefetch()} batches are in memory, and the batch of the program. The methods must
 * be called by one thread at a time.
 *
 * @param <S> a sample
 */
public final class DataLoader<S> implements AutoCloseable {
    /** A reader that does not react to an interrupt is left alone after this time; its thread is a daemon. */
    private static final Duration CLOSE_WAIT = Duration.ofSeconds(2);

    private final Dataset<S> dataset;
    private final int ranks;
    private final int rank;
    private final DataLoaderOptions options;
    private final Deque<BatchReading<S>> readings = new ArrayDeque<>();
    private ExecutorService threads;
    private BatchPlan plan;
    private DataLoaderState state;
    private long given;

    private DataLoader(Dataset<S> dataset, int ranks, int rank, DataLoaderOptions options, DataLoaderState from) {
        this.dataset = dataset;
        this.ranks = ranks;
        this.rank = rank;
        this.options = options;
        this.plan = new BatchPlan(dataset.size(), ranks, rank, options, from);
        this.state = plan.state();
        this.threads = threads();
    }

    /**
     * A loader for this rank of a group, at the beginning of the stream.
     *
     * @throws IllegalArgumentException if the dataset has no batch for each rank
     */
    public static <S> DataLoader<S> of(Dataset<S> dataset, ProcessGroup group, DataLoaderOptions options) {
        return of(dataset, group, options, DataLoaderState.start(options.order().seed()));
    }

    /**
     * As {@link #of(Dataset, ProcessGroup, DataLoaderOptions)}, from a saved state. The loader takes the seed of the
     * state.
     */
    public static <S> DataLoader<S> of(
            Dataset<S> dataset, ProcessGroup group, DataLoaderOptions options, DataLoaderState from) {
        return of(dataset, group.size(), group.groupRank(), options, from);
    }

    /** As {@link #of(Dataset, ProcessGroup, DataLoaderOptions, DataLoaderState)}, for {@code rank} of {@code ranks}. */
    public static <S> DataLoader<S> of(
            Dataset<S> dataset, int ranks, int rank, DataLoaderOptions options, DataLoaderState from) {
        if (ranks < 1 || rank < 0 || rank >= ranks) {
            throw new IllegalArgumentException("rank " + rank + " of " + ranks + " ranks does not exist");
        }
        return new DataLoader<>(dataset, ranks, rank, options, from);
    }

    /** The position behind the last batch that {@link #next} has given. Save this state with the parameters. */
    public DataLoaderState state() {
        return state;
    }

    /**
     * Continues at another position, for example at the position of a checkpoint. Batches that were read in advance are
     * dropped.
     */
    public void restore(DataLoaderState from) {
        restore(new BatchPlan(dataset.size(), ranks, rank, options, from));
    }

    /** Continues behind the next batches. No sample of these batches is read. */
    public void skip(long batches) {
        BatchPlan skipped = new BatchPlan(dataset.size(), ranks, rank, options, state);
        skipped.skip(batches);
        restore(skipped);
    }

    private void restore(BatchPlan restored) {
        threads.shutdownNow();
        readings.clear();
        threads = threads();
        plan = restored;
        state = plan.state();
    }

    /**
     * The next batch, of this epoch or of the next one. The reading of further batches begins.
     *
     * @throws DataException naming rank, file and record, if a sample cannot be read, or is not there within the
     *     deadline. A later call waits for the same batch again.
     */
    public List<S> next() {
        readAhead();
        BatchReading<S> first = readings.getFirst();
        List<S> batch = first.isReady() ? await(first) : awaitSpan(first);
        given++;
        readings.removeFirst();
        state = first.stateAfter();
        readAhead();
        return batch;
    }

    /** The rest of this epoch, for a loop. An exact evaluation may give some ranks one batch less than others. */
    public Iterable<List<S>> epoch() {
        long epoch = state.epoch();
        boolean isEmpty = plan.isEmpty();
        return () -> new Iterator<>() {
            @Override
            public boolean hasNext() {
                return !isEmpty && state.epoch() == epoch;
            }

            @Override
            public List<S> next() {
                if (!hasNext()) {
                    throw new NoSuchElementException("epoch " + epoch + " has no more batches");
                }
                return DataLoader.this.next();
            }
        };
    }

    /** Ends the threads. The dataset stays open. */
    @Override
    public void close() {
        threads.shutdownNow();
        readings.clear();
        try {
            boolean _ = threads.awaitTermination(CLOSE_WAIT.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    private void readAhead() {
        while (readings.size() < options.prefetch()) {
            long[] samples = plan.next();
            readings.addLast(BatchReading.begin(dataset, samples, plan.state(), threads));
        }
    }

    /** Waits, and adds the wait to the timeline of this rank. */
    private List<S> awaitSpan(BatchReading<S> reading) {
        long began = System.nanoTime();
        try {
            return await(reading);
        } finally {
            Timeline.ofProcess().span("data wait", given, began, System.nanoTime(), 0);
        }
    }

    private List<S> await(BatchReading<S> reading) {
        try {
            return reading.batch(options.deadline());
        } catch (TimeoutException e) {
            throw new DataException(
                    "rank " + rank + " has waited " + options.deadline().toMillis() / 1000.0 + " s for "
                            + dataset.location(reading.sample())
                            + ". The storage is slow or does not answer. Check the storage, or raise the deadline of"
                            + " the loader.",
                    e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new DataException(
                    "rank " + rank + " cannot read " + dataset.location(reading.sample()) + ": " + cause, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DataException(
                    "rank " + rank + " was interrupted while it waited for " + dataset.location(reading.sample()), e);
        }
    }

    private ExecutorService threads() {
        return Executors.newFixedThreadPool(
                options.threads(),
                Thread.ofPlatform().daemon().name("data-loader-", 0).factory());
    }
}
