package io.jrun.examples.gpt;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.examples.options.InvalidArgumentException;
import io.jrun.train.checkpoint.CheckpointDirectory;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderState;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;

/**
 * Saves the model and the optimizer in the folder of --checkpoint, and reads them back. Without the option it does
 * neither.
 */
final class Checkpoints {
    private static final String MODEL_KEY = "model";
    private static final String DATA_KEY = "data";
    private static final String LOADER_KEY = "loader";

    private final GptOptions options;
    private final ProcessGroup group;
    private final GptOptimizer optimizer;
    private final DataLoader<?> loader;
    private final Progress progress;

    Checkpoints(
            GptOptions options, ProcessGroup group, GptOptimizer optimizer, DataLoader<?> loader, Progress progress) {
        this.options = options;
        this.group = group;
        this.optimizer = optimizer;
        this.loader = loader;
        this.progress = progress;
    }

    /**
     * Loads the newest checkpoint on every rank, also the position in the data. Rank 0 says which one that is, because
     * other nodes may see a file later.
     *
     * @return the step of the checkpoint; 0 if there is no checkpoint
     * @throws InvalidArgumentException if the folder has a checkpoint that this run must not use
     */
    long resume() {
        if (options.checkpoint().isEmpty()) {
            return 0;
        }
        Path folder = options.checkpoint().get();
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        long[] step = {group.groupRank() == 0 ? directory.latest().orElse(-1) : -1};
        group.broadcast(MemorySegment.ofArray(step), DataType.I64, 1, 0);
        if (step[0] < 0) {
            return 0;
        }
        if (!options.resume()) {
            throw new InvalidArgumentException(folder + " holds the checkpoint of step " + step[0]
                    + " already; go on from it with --resume, or choose another --checkpoint");
        }
        Map<String, String> saved = directory.metadata(step[0]);
        String savedModel = saved.getOrDefault(MODEL_KEY, "unknown");
        if (!savedModel.equals(options.model().summary())) {
            throw new InvalidArgumentException("the checkpoint in " + folder + " is of a model with " + savedModel
                    + ", this run's has " + options.model().summary());
        }
        String savedOrder = saved.getOrDefault(DATA_KEY, "unknown");
        if (!savedOrder.equals(dataOrder())) {
            progress.say("note: the checkpoint was trained with " + savedOrder + ", this run has " + dataOrder()
                    + "; each step sees other samples from here on");
        }
        if (saved.containsKey(LOADER_KEY)) {
            restore(saved.get(LOADER_KEY));
        }
        optimizer.load(directory, step[0]);
        return step[0];
    }

    private void restore(String loaderState) {
        try {
            loader.restore(DataLoaderState.parse(loaderState));
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
    }

    /** Rank 0 saves the state after {@code step}. All ranks have the same state. */
    void save(long step) {
        if (options.checkpoint().isEmpty()) {
            progress.say("a checkpoint was asked for, but there is no --checkpoint=DIR");
        } else if (group.groupRank() == 0) {
            Map<String, String> metadata = Map.of(
                    MODEL_KEY,
                    options.model().summary(),
                    DATA_KEY,
                    dataOrder(),
                    LOADER_KEY,
                    loader.state().toJson());
            Path written =
                    optimizer.save(CheckpointDirectory.of(options.checkpoint().get()), step, metadata);
            progress.say("checkpoint " + written);
        }
    }

    /** Saves the state at the end of the training, if --checkpoint names a folder. */
    void saveLast(long step) {
        if (options.checkpoint().isPresent()) {
            save(step);
        }
    }

    /** The options that decide the samples of a step. */
    private String dataOrder() {
        return String.format(
                Locale.ROOT,
                "seed %d, %d sequences in a step",
                options.seed(),
                group.size() * options.batch() * options.recipe().accumulate());
    }
}
