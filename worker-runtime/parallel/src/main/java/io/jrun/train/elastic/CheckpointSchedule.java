package io.jrun.train.elastic;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.ModelState;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/** Decides when a training state is written to disk, and loads the state. Confined to the training thread. */
final class CheckpointSchedule {
    private static final String MODEL = "model.";
    private static final String OPTIMIZER = "optimizer.";
    private static final String BATCHES = "batches";

    private final CheckpointManager manager;
    private final long everySteps;
    private long lastStep;

    CheckpointSchedule(CheckpointManager manager, long everySteps) {
        if (everySteps < 1) {
            throw new IllegalArgumentException(
                    "a checkpoint every " + everySteps + " steps is not possible; give at least 1 step");
        }
        this.manager = manager;
        this.everySteps = everySteps;
    }

    /** Loads the newest checkpoint into {@code state}. Without a checkpoint the state does not change. */
    void load(TrainingState<?, ?> state) {
        manager.latest().ifPresent(step -> {
            SavedCheckpoint saved = manager.open(step);
            String batches = saved.texts().get(BATCHES);
            if (batches == null) {
                throw new CheckpointException("the checkpoint of step " + step + " in " + manager
                        + " does not say how many batches were taken: another program wrote it. Choose another folder");
            }
            Map<String, Tensor> model = saved.read(MODEL);
            Map<String, Tensor> optimizer = saved.read(OPTIMIZER);
            ModelState.load(state.model(), model);
            state.loadOptimizer(optimizer);
            model.values().forEach(Tensor::close);
            optimizer.values().forEach(Tensor::close);
            state.goTo(step, Long.parseLong(batches));
            lastStep = step;
        });
    }

    void saveIfDue(TrainingState<?, ?> state, boolean isRequested) {
        boolean isNew = state.step() > lastStep;
        if (isNew && (isRequested || state.step() - lastStep >= everySteps)) {
            Map<String, Tensor> optimizer = state.optimizerState();
            manager.save(
                    state.step(),
                    new StateDict()
                            .putAll(MODEL, ModelState.of(state.model()))
                            .putAll(OPTIMIZER, optimizer)
                            .putText(BATCHES, Long.toString(state.sampler().taken())));
            optimizer.values().forEach(Tensor::close);
            lastStep = state.step();
        }
    }
}
