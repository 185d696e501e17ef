package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.CommException;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.file.FileError;
import io.jrun.comm.timeline.Timeline;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.storage.Storage;
import io.jrun.train.storage.StorageException;
import io.jrun.train.storage.Storages;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The checkpoints of one run at one location: saves, loads and retention. Each rank has a manager of its own, and the
 * ranks call {@link #save}, {@link #saveAsync}, {@link #latest} and {@link #open} together. A save that is killed at
 * any moment leaves the earlier checkpoints as they were, also the one of the same step. One job at a time writes to a
 * location. Confined to one thread; {@link #saveAsync} writes on a thread of its own.
 */
public final class CheckpointManager implements AutoCloseable {
    /** A save of a terabyte to a slow file system takes less. The group's own timeout is for collectives of a step. */
    private static final Duration LONGEST_SAVE = Duration.ofHours(2);

    /** The wait of {@link #close} for a save whose end the interrupted thread of the program has not awaited. */
    private static final Duration LONGEST_END = Duration.ofSeconds(30);

    private static final String ALONE = "alone";

    private final Storage storage;
    private final @Nullable ProcessGroup ownGroup;
    private final RankExchange ranks;
    private final String run;
    private final String token;
    private final Retention retention;
    private final CheckpointWriter writer;
    private final CheckpointFolder folder;
    private final StateSnapshot snapshot = new StateSnapshot();
    private final ExecutorService background = Executors.newSingleThreadExecutor(
            Thread.ofPlatform().name("checkpoint-writer").daemon().factory());
    private @Nullable Future<?> outstanding;
    private boolean isSwept;

    private CheckpointManager(Storage storage, @Nullable ProcessGroup ownGroup, String run, Retention retention) {
        Libtorch.load();
        this.storage = storage;
        this.ownGroup = ownGroup;
        this.ranks = RankExchange.of(ownGroup);
        this.run = run;
        this.retention = retention;
        this.writer = new CheckpointWriter(storage, ranks, run);
        this.folder = new CheckpointFolder(storage);
        this.token =
                ranks.run("open " + storage, () -> UUID.randomUUID().toString()).getFirst();
    }

    /**
     * The checkpoints at a location, for the ranks of a group. Collective. The manager makes a group of its own from
     * the ranks, so that a save in the background does not disturb the collectives of the training.
     *
     * @param location a path, {@code file:///path} or {@code s3://bucket/prefix}; the folder may be missing; equal on
     *     all ranks
     * @param run the name of the job, {@code world.runId()}; file names contain it
     * @throws IllegalArgumentException if the location is malformed or its scheme is unknown; the message is one line
     * @throws CheckpointException if the location cannot be reached
     */
    public static CheckpointManager open(String location, ProcessGroup group, String run, Retention retention) {
        return open(storage(location), group, run, retention);
    }

    /** As {@link #open(String, ProcessGroup, String, Retention)}, on a storage. The manager closes the storage. */
    static CheckpointManager open(Storage storage, ProcessGroup group, String run, Retention retention) {
        ProcessGroup own = group.newGroup(
                IntStream.range(0, group.size()).boxed().toList(),
                group.options().withTimeout(LONGEST_SAVE));
        return new CheckpointManager(storage, own, run, retention);
    }

    /**
     * The checkpoints at a location, for a process that saves and loads alone, as
     * {@link #open(String, ProcessGroup, String, Retention)}.
     */
    public static CheckpointManager alone(String location, Retention retention) {
        return alone(storage(location), retention);
    }

    /** As {@link #alone(String, Retention)}, on a storage. The manager closes the storage. */
    static CheckpointManager alone(Storage storage, Retention retention) {
        return new CheckpointManager(storage, null, ALONE, retention);
    }

    private static Storage storage(String location) {
        try {
            return Storages.open(location);
        } catch (IOException e) {
            throw new CheckpointException("cannot open " + location + ": " + StorageException.text(e), e);
        }
    }

    /**
     * Saves the state after {@code step} steps and removes checkpoints that the retention does not keep. Returns when
     * the checkpoint is committed and durable. Collective.
     *
     * @throws CheckpointException on every rank if one rank cannot write, or if an earlier {@link #saveAsync} has
     *     failed; earlier checkpoints are unchanged
     * @throws CommException if a rank is lost
     */
    public void save(long step, StateDict state) {
        await();
        write(writer, step, state);
    }

    /**
     * Copies the state, and saves the copy in the background. Returns after the copy. At most one save is outstanding:
     * a second call waits for the first save. The error of a save in the background is thrown by the next call of
     * {@link #save}, {@link #saveAsync}, {@link #await} or {@link #close}. Collective.
     *
     * @throws CheckpointException if the save before this one has failed
     */
    public void saveAsync(long step, StateDict state) {
        long began = System.nanoTime();
        await();
        StateDict copy = snapshot.copy(state);
        Timeline.ofProcess().span("snapshot", step, began, System.nanoTime(), 0);
        outstanding = background.submit(() -> write(writer, step, copy));
    }

    /**
     * Saves as {@link #save} when the groups of the job have ended, such as after SIGTERM: the ranks exchange
     * the lists of their tensors through objects of the storage. Each rank calls the method once, as the last call
     * before {@link #close}.
     *
     * @param step the last whole step of this rank
     * @param meeting the longest wait for the other ranks to come
     * @param limit the longest time of the whole save
     * @throws CheckpointException if a rank fails, or has made another number of steps; earlier checkpoints are as they
     *     were
     * @throws CommException if a rank does not come, or has left the job; earlier checkpoints are as they were
     */
    public void saveWithoutGroup(long step, StateDict state, Duration meeting, Duration limit) {
        try {
            await();
        } catch (CommException | CheckpointException _) {
            // The save in the background has failed. This save may succeed.
        }
        ProcessGroup group = ownGroup;
        IntFunction<Optional<String>> departure = group == null ? _ -> Optional.empty() : group::departure;
        RankExchange all = RankExchange.through(
                new StorageExchange(storage, token, ranks.rank(), ranks.size(), departure, meeting, limit));
        List<String> steps = all.run("say its step", () -> Long.toString(step));
        if (steps.stream().distinct().count() > 1) {
            throw new CheckpointException("the ranks were stopped after different steps " + steps
                    + ": no checkpoint is saved. The last committed checkpoint is unchanged.");
        }
        isSwept = true; // a sweep would remove the objects of the exchange
        write(new CheckpointWriter(storage, all, run), step, state);
    }

    /**
     * Waits for the outstanding save, if there is one.
     *
     * @throws CheckpointException if the save has failed, or if the thread is interrupted; the save then goes on and
     *     stays outstanding
     */
    public void await() {
        Future<?> pending = outstanding;
        outstanding = null;
        if (pending == null) {
            return;
        }
        try {
            pending.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CommException lost) {
                throw lost;
            }
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new CheckpointException("a save in the background has failed: " + cause.getMessage(), cause);
        } catch (InterruptedException e) {
            outstanding = pending; // the thread of the save still reads the copy of the state
            Thread.currentThread().interrupt();
            throw new CheckpointException("interrupted while a save was in progress", e);
        }
    }

    private void write(CheckpointWriter by, long step, StateDict state) {
        long began = System.nanoTime();
        try {
            writeFiles(by, step, state);
        } finally {
            Timeline.ofProcess().span("save", step, began, System.nanoTime(), 0);
        }
    }

    private void writeFiles(CheckpointWriter by, long step, StateDict state) {
        by.write(CheckpointFolder.of(step), step, state, new CheckpointWriter.Housekeeping() {
            private boolean replaces;

            @Override
            public void prepare() {
                if (!isSwept) {
                    folder.sweep();
                    isSwept = true;
                }
                replaces = folder.steps().contains(step);
            }

            @Override
            public void cleanUp() {
                if (replaces) {
                    folder.sweep(step);
                }
                retention.removed(folder.steps(), step).forEach(folder::remove);
            }
        });
    }

    /** The newest checkpoint's step; empty if there is none. Rank 0 decides for all. Collective. */
    public OptionalLong latest() {
        await();
        return newest(folder::steps);
    }

    /**
     * The newest checkpoint that this run has saved, also before a restart. A location may also have later checkpoints
     * of an earlier run. A checkpoint whose index cannot be read belongs to no run. Rank 0 decides for all. Collective.
     */
    public OptionalLong latestOfRun() {
        await();
        return newest(() -> folder.stepsOf(run));
    }

    private OptionalLong newest(Supplier<NavigableSet<Long>> steps) {
        String newest = ranks.run("find the newest checkpoint", () -> ranks.rank() == 0 ? newestOf(steps.get()) : "")
                .getFirst();
        return newest.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(newest));
    }

    private static String newestOf(NavigableSet<Long> steps) {
        return steps.isEmpty() ? "" : String.valueOf(steps.last());
    }

    /**
     * The newest checkpoint before {@code step} that looks whole: its index is valid, and its parts have the sizes that
     * the index says. For a program whose newest checkpoint is damaged. Local.
     */
    public OptionalLong completeBefore(long step) {
        return folder.completeBefore(step);
    }

    /**
     * Checks that each rank can write to the location, with small objects that are deleted. A program calls this method
     * before its first step, so that it does not train until its first save for nothing. Collective.
     *
     * @throws CheckpointException on every rank, with the rank and the reason, if a rank cannot write
     */
    public void requireWritable() {
        List<String> _ = ranks.run("write to " + storage, () -> {
            folder.requireWritable(token + "-" + ranks.rank());
            return "";
        });
    }

    /** The steps of all committed checkpoints that this rank sees. Local. */
    public NavigableSet<Long> steps() {
        return new TreeSet<>(folder.steps());
    }

    /**
     * Opens a checkpoint. Local.
     *
     * @throws CheckpointException if there is none of this step; of the type {@code DamagedCheckpointException} if its
     *     index cannot be read
     */
    public SavedCheckpoint open(long step) {
        return folder.open(step);
    }

    /** The location. */
    @Override
    public String toString() {
        return storage.toString();
    }

    /**
     * Waits for the outstanding save and frees all memory. An interrupted thread waits 30 seconds at most. The memory
     * of a save that has not ended then is not freed, because the save still reads it. Throws as {@link #await}.
     */
    @Override
    public void close() {
        try {
            await();
        } finally {
            if (hasBackgroundEnded()) {
                snapshot.close();
            }
            if (ownGroup != null) {
                ownGroup.close();
            }
            closeStorage();
        }
    }

    /** Whether the thread of the saves ends within {@link #LONGEST_END}, also if the caller is interrupted. */
    private boolean hasBackgroundEnded() {
        background.shutdown();
        long begin = System.nanoTime();
        boolean isInterrupted = false;
        try {
            while (true) {
                try {
                    return background.awaitTermination(
                            LONGEST_END.toNanos() - (System.nanoTime() - begin), TimeUnit.NANOSECONDS);
                } catch (InterruptedException _) {
                    isInterrupted = true;
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void closeStorage() {
        try {
            storage.close();
        } catch (IOException e) {
            throw new CheckpointException("cannot close " + storage + ": " + FileError.reason(e, storage), e);
        }
    }
}
