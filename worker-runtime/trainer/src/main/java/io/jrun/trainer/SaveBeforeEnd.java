package io.jrun.trainer;

import io.jrun.comm.CommException;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * Saves when jrun stops the job. The groups of the job have ended then. If all ranks hold the same state, rank 0 saves
 * alone; else each rank saves its parts.
 */
record SaveBeforeEnd(CheckpointManager manager, int rank, CheckpointOptions options, Progress progress) {
    /** A rank that was killed takes no part in the save. */
    private static final Duration MEETING_LIMIT = Duration.ofSeconds(10);

    /** Less than {@link Checkpoints#SAVE_LIMIT}, after which the process ends. */
    private static final Duration LIMIT = Checkpoints.SAVE_LIMIT.minusSeconds(2);

    /** Saves the state after {@code step}, the last whole step. Each rank calls the method. */
    void save(TrainedModel.Holding holding, long step, Supplier<RankState> state) {
        switch (holding) {
            case ALL -> {
                if (rank == 0) {
                    saveAlone(step, state);
                }
            }
            case PARTS -> saveParts(step, state);
        }
    }

    private void saveParts(long step, Supplier<RankState> state) {
        try (RankState parts = state.get()) {
            manager.saveWithoutGroup(step, parts.dict(), MEETING_LIMIT, LIMIT);
            progress.print("checkpoint of step " + step + " in " + manager);
        } catch (CheckpointException | CommException e) {
            progress.print("no checkpoint of step " + step + ": " + e.getMessage());
        }
    }

    /** A save in the background has ended before, so that only one save writes. */
    private void saveAlone(long step, Supplier<RankState> state) {
        try {
            manager.close();
        } catch (CheckpointException | CommException e) {
            progress.print("a save was interrupted: " + e.getMessage());
        }
        options.location().ifPresent(location -> {
            try (CheckpointManager alone = CheckpointManager.alone(location, options.retention());
                    RankState whole = state.get()) {
                alone.save(step, whole.dict());
                progress.print("checkpoint of step " + step + " in " + alone);
            }
        });
    }
}
