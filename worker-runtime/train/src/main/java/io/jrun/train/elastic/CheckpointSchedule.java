package io.jrun.train.elastic;

import io.jrun.train.checkpoint.CheckpointDirectory;
import io.jrun.train.checkpoint.CheckpointException;
import java.util.Map;

/** When a training state is written to disk, and how it comes back from there. Confined to the training thread. */
final class CheckpointSchedule {
    private static final String BATCHES = "batches";

    private final CheckpointDirectory directory;
    private final long everySteps;
    private long lastStep;

    CheckpointSchedule(CheckpointDirectory directory, long everySteps) {
        if (everySteps < 1) {
            throw new IllegalArgumentException("a checkpoint every " + everySteps + " steps: give 1 or more");
        }
        this.directory = directory;
        this.everySteps = everySteps;
    }

    /** Makes the newest checkpoint the present of {@code state}; without one nothing changes. */
    void load(TrainingState<?, ?> state) {
        directory.latest().ifPresent(step -> {
            Map<String, String> metadata = directory.load(step, state.model(), state.optimizer());
            String batches = metadata.get(BATCHES);
            if (batches == null) {
                throw new CheckpointException("the checkpoint of step " + step + " in " + directory
                        + " does not say how many batches were taken: another program wrote it. Choose another folder");
            }
            state.goTo(step, Long.parseLong(batches));
            lastStep = step;
        });
    }

    void saveIfDue(TrainingState<?, ?> state, boolean isRequested) {
        boolean isNew = state.step() > lastStep;
        if (isNew && (isRequested || state.step() - lastStep >= everySteps)) {
            var metadata = Map.of(BATCHES, Long.toString(state.sampler().taken()));
            directory.save(state.step(), state.model(), state.optimizer(), metadata);
            lastStep = state.step();
        }
    }
}
