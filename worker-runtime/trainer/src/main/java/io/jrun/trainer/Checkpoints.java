package io.jrun.trainer;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.World;
import io.jrun.comm.file.FileError;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.DamagedCheckpointException;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.SaveRequests;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.TerminationGuard;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderState;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.arguments.RankAgreement;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Saves the training at the location of --checkpoint, and reads the training back. All ranks hold the same state, and
 * each rank writes a share. Without the option nothing is saved.
 */
final class Checkpoints implements AutoCloseable {
    private static final String MODEL_KEY = "model";
    private static final String DATA_KEY = "data";
    private static final String LOADER_KEY = "loader";
    private static final String CORPUS_KEY = "corpus";
    private static final String OPTIMIZER_KEY = "optimizer";

    /** Less than jrun's grace period of 30 s. */
    static final Duration SAVE_LIMIT = Duration.ofSeconds(25);

    private final TrainingArguments options;
    private final World world;
    private final int dataRanks;
    private final String summary;
    private final String corpus;
    private final TrainingSteps trainer;
    private final DataLoader<?> loader;
    private final Progress progress;
    private final SaveRequests requests;
    private final @Nullable CheckpointManager manager;

    /** The last whole step, and the position in the data after it. */
    private long lastStep;

    private long savedStep;

    private DataLoaderState position;

    private @Nullable TerminationGuard guard;

    private Checkpoints(
            TrainingArguments options,
            World world,
            int dataRanks,
            String corpus,
            TrainingSteps trainer,
            DataLoader<?> loader,
            Progress progress,
            @Nullable CheckpointManager manager) {
        this.options = options;
        this.world = world;
        this.dataRanks = dataRanks;
        this.summary = options.definition().summary();
        this.corpus = corpus;
        this.trainer = trainer;
        this.loader = loader;
        this.position = loader.state();
        this.progress = progress;
        this.requests = new SaveRequests(world);
        this.manager = manager;
    }

    /**
     * Opens the location. Collective.
     *
     * @param corpus the data in words, equal for equal data
     */
    static Checkpoints open(
            TrainingArguments options,
            World world,
            int dataRanks,
            String corpus,
            TrainingSteps trainer,
            DataLoader<?> loader,
            Progress progress) {
        CheckpointOptions where = options.checkpoints();
        try {
            CheckpointManager manager = where.location()
                    .map(location -> CheckpointManager.open(location, world.group(), world.runId(), where.retention()))
                    .orElse(null);
            return new Checkpoints(options, world, dataRanks, corpus, trainer, loader, progress, manager);
        } catch (IllegalArgumentException | CheckpointException e) {
            throw new InvalidArgumentException("--checkpoint: " + e.getMessage());
        }
    }

    /**
     * Loads the newest checkpoint, or that of --resume=STEP, on every rank, also the position in the data. Collective.
     *
     * @return the step of the checkpoint; 0 without a checkpoint
     * @throws InvalidArgumentException on every rank, if the location cannot be used, if the checkpoint is damaged, or
     *     if this run must not use the checkpoint
     */
    long resume() {
        CheckpointManager from = manager;
        if (from == null) {
            return afterStepsInFiles();
        }
        OptionalLong found;
        OptionalLong ofRestart;
        try {
            found = from.latest();
            ofRestart = world.restartCount() > 0 ? from.latestOfRun() : OptionalLong.empty();
        } catch (CheckpointException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
        if (found.isPresent() && !options.checkpoints().resume()) {
            throw new InvalidArgumentException(from + " holds the checkpoint of step " + found.getAsLong()
                    + " already; go on from it with --resume, or choose another --checkpoint");
        }
        OptionalLong asked = options.checkpoints().resumeStep();
        if (found.isEmpty() && asked.isEmpty()) {
            return 0;
        }
        // A restarted job goes on from what it has saved since it went on from --resume=STEP.
        long step = asked.isEmpty() ? found.orElse(0) : ofRestart.orElse(asked.getAsLong());
        RankAgreement.check(world.group(), () -> load(from, step));
        return step;
    }

    private void load(CheckpointManager from, long step) {
        try {
            load(from, from.open(step));
        } catch (DamagedCheckpointException e) {
            OptionalLong earlier = from.completeBefore(step);
            throw new InvalidArgumentException(e.getMessage()
                    + (earlier.isEmpty()
                            ? " No earlier checkpoint is whole."
                            : " The checkpoint of step " + earlier.getAsLong() + " is whole: --resume="
                                    + earlier.getAsLong() + " goes on from it."));
        } catch (CheckpointException | IllegalArgumentException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
    }

    private void load(CheckpointManager from, SavedCheckpoint saved) {
        String model = summary;
        String savedModel = saved.texts().getOrDefault(MODEL_KEY, "unknown");
        ParallelChecks.refuse(
                !savedModel.equals(model),
                "the checkpoint in " + from + " is of a model with " + savedModel + ", this run's has " + model);
        String optimizer = options.recipe().update().optimizer().family();
        String savedOptimizer = saved.texts().getOrDefault(OPTIMIZER_KEY, optimizer);
        ParallelChecks.refuse(
                !savedOptimizer.equals(optimizer),
                "the checkpoint in " + from + " has the state of " + savedOptimizer + ", this run's optimizer is "
                        + optimizer + ": give the --optimizer of the checkpoint, or choose another --checkpoint");
        String savedCorpus = saved.texts().getOrDefault(CORPUS_KEY, corpus);
        if (!savedCorpus.equals(corpus)) {
            progress.print(
                    "note: the checkpoint was trained on other data (" + savedCorpus + "), this run has " + corpus);
        }
        RankState.requireType(
                saved,
                options.recipe().parameters(),
                from,
                ModuleTensors.parameters(trainer.model().module()).keySet());
        String savedOrder = saved.texts().getOrDefault(DATA_KEY, "unknown");
        if (!savedOrder.equals(dataOrder())) {
            progress.print("note: the checkpoint was trained with " + savedOrder + ", this run has " + dataOrder()
                    + "; each step sees other samples from here on");
        }
        String loaderState = saved.texts().get(LOADER_KEY);
        if (loaderState != null) {
            restore(loaderState);
        }
        RankState.load(trainer, saved, world.rank());
        trainer.load(saved);
    }

    /**
     * Checks that the checkpoints and the file of --out can be written, before the first step. Collective.
     *
     * @throws InvalidArgumentException on every rank, with one line
     */
    void requireWritable() {
        RankAgreement.check(world.group(), () -> {
            if (world.rank() == 0) {
                options.checkpoints().out().ifPresent(this::requireWritable);
            }
        });
        try {
            if (manager != null) {
                manager.requireWritable();
            }
        } catch (CheckpointException e) {
            throw new InvalidArgumentException("--checkpoint: " + e.getMessage());
        }
    }

    private void requireWritable(Path out) {
        try {
            options.model().factory().requireWritable(out);
        } catch (IOException e) {
            throw new InvalidArgumentException("--out=" + out + " cannot be written: " + FileError.reason(e, out));
        }
    }

    /** States in files are of the last whole step. The data go on behind the batches of the steps before. */
    private long afterStepsInFiles() {
        long done = trainer.model().optimizer().stepsDone();
        loader.skip(done * options.recipe().accumulate());
        return done;
    }

    private void restore(String loaderState) {
        try {
            loader.restore(DataLoaderState.parse(loaderState));
        } catch (IllegalArgumentException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
    }

    /**
     * Saves the state after {@code step} if --checkpoint-every or jrun asks for a checkpoint. Collective.
     *
     * @return whether the state was saved
     */
    boolean saveIfDue(long step) {
        if (manager == null) {
            if (world.checkpointRequested()) {
                progress.print("a checkpoint was requested, but there is no --checkpoint=LOCATION");
            }
            return false;
        }
        boolean isRequested = requests.agree();
        boolean saves =
                step < options.steps() && (isRequested || options.checkpoints().isDue(step));
        if (saves) {
            save(manager, step, options.checkpoints().isAsync());
            savedStep = step;
        }
        return saves;
    }

    /**
     * Saves the state after the last step, if --checkpoint asks. A training that made no step has no new state.
     * Collective.
     *
     * @throws io.jrun.train.precision.NonFiniteException if a parameter has a value that is not finite
     */
    void saveLast(long firstStep, long finalStep) {
        if (firstStep >= finalStep) {
            return;
        }
        if (manager == null) {
            trainer.requireFinite(finalStep);
        } else if (savedStep < finalStep) {
            save(manager, finalStep, false);
        }
    }

    /** Writes the parameters after {@code step} alone, if --out asks. Collective. */
    void writeOut(long step) {
        options.checkpoints().out().ifPresent(file -> {
            trainer.checkReplicas(step);
            Map<String, Tensor> whole = trainer.model().wholeParameters(world.rank() == 0);
            if (world.rank() == 0) {
                options.model().factory().save(trainer.model().module(), whole, file);
            }
            whole.values().forEach(Tensor::close);
        });
    }

    private void save(CheckpointManager to, long step, boolean isAsync) {
        trainer.requireFinite(step);
        trainer.checkReplicas(step); // Each rank writes a share of the copies.
        try (RankState state = state()) {
            if (isAsync) {
                to.saveAsync(step, state.dict());
            } else {
                to.save(step, state.dict());
            }
        }
        progress.print("checkpoint of step " + step + " in " + to + (isAsync ? ", in the background" : ""));
    }

    private RankState state() {
        RankState state = RankState.of(
                trainer,
                world.rank(),
                Map.of(
                        MODEL_KEY,
                        summary,
                        DATA_KEY,
                        dataOrder(),
                        LOADER_KEY,
                        position.toJson(),
                        CORPUS_KEY,
                        corpus,
                        OPTIMIZER_KEY,
                        options.recipe().update().optimizer().family()));
        trainer.put(state.dict());
        return state;
    }

    /**
     * Runs the training. If jrun stops the job, the state after the last whole step is saved before the process ends.
     * The groups of the job have ended then. If all ranks hold the same state, rank 0 saves alone; else each rank saves
     * its parts.
     *
     * @param training receives a consumer for the number of each whole step
     * @return false if a stop signal has interrupted the training: the process ends, and this is no failure
     */
    boolean protect(long firstStep, Consumer<LongConsumer> training) {
        lastStep = firstStep;
        position = loader.state();
        boolean hasStates = manager != null || options.parallel().offload().isPresent();
        try (TerminationGuard installed = TerminationGuard.install(hasStates ? SAVE_LIMIT : Duration.ZERO)) {
            guard = installed;
            try {
                training.accept(step -> {
                    lastStep = step;
                    position = loader.state();
                    requireNoStop();
                });
            } catch (CommException e) {
                if (trainer.endInterruptedStep()) {
                    lastStep++; // All batches of the step are read, and all ranks together have its parameters.
                    position = loader.state();
                }
                if (e.code() == ErrorCode.ABORTED && lastStep > firstStep && manager != null) {
                    saveBeforeEnd(manager);
                }
                if (e.code() != ErrorCode.ABORTED || !installed.isTerminating()) {
                    throw e;
                }
                return false;
            }
            return true;
        }
    }

    private void saveBeforeEnd(CheckpointManager to) {
        Optional<String> bad = trainer.nonFiniteParameter();
        if (bad.isPresent()) {
            progress.print("no checkpoint of step " + lastStep + ": the parameter '" + bad.get()
                    + "' has a value that is not finite");
            return;
        }
        new SaveBeforeEnd(to, world.rank(), options.checkpoints(), progress)
                .save(trainer.model().holding(), lastStep, this::state);
    }

    /**
     * Ends the training if jrun stops the job. Between two micro-batches too: a step may have a million of them.
     *
     * @throws CommException with the code ABORTED
     */
    void requireNoStop() {
        if (guard != null && guard.isTerminating()) {
            throw new CommException(ErrorCode.ABORTED, "the process received a stop signal");
        }
    }

    /** Everything that decides which samples a step sees. */
    private String dataOrder() {
        return String.format(
                Locale.ROOT,
                "seed %d, %d sequences in a step",
                options.seed(),
                dataRanks * options.microBatch() * options.recipe().accumulate());
    }

    @Override
    public void close() {
        if (manager != null) {
            manager.close();
        }
    }
}
