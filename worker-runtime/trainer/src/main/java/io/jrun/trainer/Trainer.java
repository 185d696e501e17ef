package io.jrun.trainer;

import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.data.DataException;
import io.jrun.train.data.DataLoader;
import io.jrun.train.data.DataLoaderOptions;
import io.jrun.train.data.Remainder;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.ReplicaException;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.offload.OffloadException;
import io.jrun.train.precision.NonFiniteException;
import io.jrun.train.step.Step;
import io.jrun.train.token.TokenDataset;
import io.jrun.train.token.Tokenizer;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.arguments.MemoryNeed;
import io.jrun.trainer.arguments.RankAgreement;
import io.jrun.trainer.data.TokenCorpus;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains a language model on all ranks. The command line decides how: which data, how the ranks share the model, the
 * precision, the optimizer, the checkpoints, the reports. A program needs its model and one call:
 *
 * <pre>{@code
 * public static void main(String[] args) {
 *     Trainer.main("own-model.jar", args, OwnModel::new);
 * }
 * }</pre>
 *
 * <p>The program runs under jrun, or alone as a world of one rank. {@code --help} prints all options.
 */
public final class Trainer {
    private static final int EXIT_FAILURE = 1;
    private static final int EXIT_USAGE = 2;

    /** To build a larger model takes seconds, which a line announces. */
    private static final double LARGE_BYTES = 1e9;

    private final String program;
    private final String usage;
    private final ModelOptions model;

    private Trainer(String program, String usage, ModelOptions model) {
        this.program = program;
        this.usage = usage;
        this.model = model;
    }

    /**
     * Trains a model without options of its own. Unusable arguments, data or checkpoints end the process with one line on
     * stderr and exit code 2. A save that fails, or a value that is not finite, ends the process with one line and exit code 1.
     *
     * @param jar the file of the program, for {@code --help} and for errors
     */
    public static void main(String jar, String[] args, ModelFactory model) {
        main(jar, "usage: jrun [--nproc-per-node=N] " + jar + " [options]\n", args, ModelOptions.none(model));
    }

    /**
     * As {@link #main(String, String[], ModelFactory)}, for a model with options.
     *
     * @param usage the first lines of {@code --help}, each with its end of line
     */
    public static void main(String jar, String usage, String[] args, ModelOptions model) {
        String program = jar.endsWith(".jar") ? jar.substring(0, jar.length() - ".jar".length()) : jar;
        int exitCode;
        try (World world = Distributed.init()) {
            exitCode = new Trainer(program, usage, model).run(args, world);
        }
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    private int run(String[] args, World world) {
        try {
            parseAndTrain(args, world);
            return 0;
        } catch (InvalidArgumentException | DataException | OffloadException e) {
            RankAgreement.printOnce(world, program + ": " + e.getMessage());
            return EXIT_USAGE;
        } catch (CheckpointException | NonFiniteException | ReplicaException e) {
            RankAgreement.printOnce(world, program + ": " + e.getMessage());
            return EXIT_FAILURE;
        }
    }

    private void parseAndTrain(String[] args, World world) {
        DeepSpeedConfig expanded = DeepSpeedConfig.expand(args, world.size());
        Optional<TrainingArguments> parsed =
                TrainingArguments.parse(expanded.options().toArray(String[]::new), model);
        boolean prints = world.rank() == 0;
        if (parsed.isEmpty()) {
            if (prints) {
                System.out.print(TrainingArguments.help(usage, model));
            }
            return;
        }
        if (prints) {
            expanded.notes().forEach(System.out::println);
        }
        TrainingArguments given = parsed.get();
        TrainingArguments options = given.withDevice(
                given.device().choose(world, note -> RankAgreement.printOnce(world, program + ": " + note)));
        DeviceOptionChecks.check(options);
        Libtorch.setThreads(options.threads() > 0 ? options.threads() : defaultThreads(world));
        train(options, world, prints ? Progress.onStdout() : Progress.SILENT);
    }

    /** jrun divides the cores among several workers. A single worker is fastest with one thread. */
    private static int defaultThreads(World world) {
        Libtorch.load();
        return world.size() > 1 ? torch.get_num_threads() : 1;
    }

    /**
     * Trains in a world of the caller, as {@link #main} does.
     *
     * @param out gets the progress of rank 0
     * @throws InvalidArgumentException with one line, if the arguments, the data or a checkpoint cannot be used
     * @throws CheckpointException if a save fails
     */
    public static void train(String[] args, ModelOptions model, World world, PrintStream out) {
        TrainingArguments given = TrainingArguments.parse(args, model)
                .orElseThrow(() -> new InvalidArgumentException("--help prints no text here"));
        TrainingArguments options = given.withDevice(given.device().choose(world, out::println));
        DeviceOptionChecks.check(options);
        train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT);
    }

    /** The whole training, as every rank runs it. Only rank 0 has a {@code progress} that prints. */
    static void train(TrainingArguments given, World world, Progress progress) {
        try (DeviceMesh mesh = given.parallel().mesh(world)) {
            TrainingArguments options =
                    given.withAccumulation(ParallelOptions.dataGroup(mesh).size());
            requireMemory(options, world); // at once, with the vocabulary of bytes
            Path data = options.data().data().orElseGet(Trainer::jdkSources);
            try (TokenCorpus corpus = TokenCorpus.load(options.data(), data, world)) {
                long least = 20L * (options.model().context() + 1);
                if (corpus.size() < least) {
                    throw new InvalidArgumentException(
                            "--data " + data + " has " + corpus.size() + " tokens, expected at least " + least
                                    + " for --context " + options.model().context());
                }
                TrainingArguments whole = options.withVocabulary(corpus.vocabulary());
                requireMemory(whole, world);
                train(whole, corpus, world, mesh, progress);
            }
        }
    }

    /** The least memory of each rank, however the ranks share the model. */
    private static void requireMemory(TrainingArguments options, World world) {
        ModelDefinition model = options.definition();
        ParallelOptions parallel = options.parallel();
        MemoryNeed.check(
                "the parameters, gradients and optimizer states of a model of " + model.summary(),
                stateBytes(options),
                world);
        MemoryNeed.check(
                "the outputs of --micro-batch=" + options.microBatch() + " sequences of --context="
                        + options.model().context(),
                model.outputBytes()
                        * options.microBatch()
                        * options.model().context()
                        / ((double) parallel.tensor() * parallel.context()),
                world);
    }

    /** The least bytes of a rank for the parameters, the gradients and the optimizer. With --offload they lie in files. */
    private static double stateBytes(TrainingArguments options) {
        ParallelOptions parallel = options.parallel();
        double ranks = (double) parallel.tensor() * parallel.pipeline() * parallel.shards() * options.expertRanks();
        int tensors = 2 + options.recipe().update().stateTensors();
        return parallel.offload().isPresent()
                ? 0
                : tensors * options.definition().parameterBytes() / ranks;
    }

    /** The text without --data. */
    static Path jdkSources() {
        Path sources = Path.of(System.getProperty("java.home"), "lib", "src.zip");
        if (!Files.exists(sources)) {
            throw new InvalidArgumentException(
                    "this JDK has no " + sources + " to train on. Name a text with --data=PATH (folder, file or zip).");
        }
        return sources;
    }

    private static void train(
            TrainingArguments given, TokenCorpus corpus, World world, DeviceMesh mesh, Progress progress) {
        ProcessGroup group = ParallelOptions.dataGroup(mesh);
        TokenDataset windows = corpus.training(given.model().context());
        Optional<ExchangeOptions.UnevenEnd> unevenEnd =
                given.recipe().exchange().unevenEnd();
        TrainingArguments options = unevenEnd.isEmpty()
                ? given
                : given.withSteps(UnevenTraining.batches(windows.size(), group.size(), given.microBatch()));
        int perStep = options.microBatch() * options.recipe().accumulate();
        if (windows.size() < (long) options.microBatch() * group.size()) {
            throw new InvalidArgumentException("the text makes " + windows.size() + " windows of "
                    + options.model().context() + " tokens, too few for " + group.size() + " ranks with --micro-batch "
                    + options.microBatch() + "; give more text with --data or --max-bytes, or a smaller --context");
        }
        DataLoaderOptions loading = loading(options);
        double bytes = stateBytes(options);
        if (bytes > LARGE_BYTES) {
            progress.print(String.format(
                    Locale.ROOT,
                    "building a model with %.1f GB of parameters, gradients and optimizer states on each rank",
                    bytes / 1e9));
        }
        try (var trainer = new TrainingSteps(options, world, mesh);
                DataLoader<long[]> loader = DataLoader.of(windows, group, loading);
                var checkpoints =
                        Checkpoints.open(options, world, group.size(), corpus.identity(), trainer, loader, progress)) {
            long firstStep = checkpoints.resume();
            if (firstStep < options.steps()) {
                checkpoints.requireWritable();
            }
            progress.print(description(options, trainer.model(), corpus, group, firstStep));
            trainer.report().utilisationFormula().ifPresent(progress::print);
            progress.begin(
                    firstStep, options.steps(), (long) perStep * options.model().context() * group.size());

            boolean isWhole = checkpoints.protect(firstStep, done -> {
                if (unevenEnd.isPresent()) {
                    new UnevenTraining(options, corpus, trainer, loader, progress).run(unevenEnd.get());
                } else {
                    steps(options, corpus, firstStep, trainer, loader, checkpoints, progress, done);
                }
                end(trainer, progress);
                checkpoints.saveLast(firstStep);
            });
            if (!isWhole) {
                return;
            }
            trainer.useAverage();
            checkpoints.writeOut();
            trainer.model().module().eval();
            try (Step _ = trainer.model().step()) {
                evaluate(options, trainer.model(), corpus, group, progress);
            }
        }
    }

    private static void end(TrainingSteps trainer, Progress progress) {
        progress.end(trainer.model().exposedCommunication());
        trainer.model().summary().ifPresent(progress::print);
        if (trainer.checks().skipped() > 0) {
            progress.print(trainer.checks().skipped() + " steps were skipped: a loss or a gradient was not finite");
        }
        trainer.model().trainingDone();
    }

    private static DataLoaderOptions loading(TrainingArguments options) {
        DataLoaderOptions complete = DataLoaderOptions.training(options.microBatch(), options.seed());
        return options.recipe().exchange().unevenEnd().isEmpty()
                ? complete
                : complete.withOrder(complete.order().withRemainder(Remainder.EXACT));
    }

    private static void steps(
            TrainingArguments options,
            TokenCorpus corpus,
            long firstStep,
            TrainingSteps trainer,
            DataLoader<long[]> loader,
            Checkpoints checkpoints,
            Progress progress,
            LongConsumer done) {
        for (long step = firstStep + 1; step <= options.steps(); step++) {
            long number = step;
            AtomicInteger batches = new AtomicInteger();
            trainer.step(step, () -> {
                checkpoints.requireNoStop();
                progress.reportBatch(
                        number, batches.incrementAndGet(), options.recipe().accumulate());
                return options.model().factory().batch(loader.next(), number, corpus);
            });
            done.accept(step);
            if (options.reportsAfter(step)) {
                progress.report(step, trainer.report(step));
                trainer.checks().takeReason().ifPresent(reason -> progress.print("skipped " + reason));
            }
            checkpoints.saveIfDue(step);
        }
    }

    /** All ranks evaluate and generate, because ranks that share a model compute together. */
    private static void evaluate(
            TrainingArguments options, TrainedModel model, TokenCorpus corpus, ProcessGroup group, Progress progress) {
        TokenDataset windows = corpus.heldOut(options.model().context());
        double loss = Evaluation.heldOutLoss(
                model::evaluate,
                part -> options.model().factory().batch(part, 0, corpus),
                windows,
                group,
                options.device().device());
        if (group.groupRank() == 0) {
            String unit = corpus.isOfBytes() ? "byte" : "token";
            String text = String.format(Locale.ROOT, "held-out loss %.4f nats/%s", loss, unit);
            if (corpus.vocabulary() <= BigramModel.LARGEST_VOCABULARY) {
                double baseline = new BigramModel(corpus.training(1), corpus.vocabulary()).loss(windows);
                text += String.format(Locale.ROOT, " (bigram baseline %.4f)", baseline);
            }
            progress.print(text);
        }
        if (options.sample() > 0) {
            Tokenizer tokenizer = corpus.tokenizer()
                    .orElseThrow(() -> new InvalidArgumentException(
                            "--sample needs the --tokenizer with which " + corpus + " was made"));
            model.generator(options)
                    .ifPresent(generator -> progress.print(TextGenerator.generate(
                            generator, options.model().context(), tokenizer, options.sample(), options.seed())));
        }
    }

    private static String description(
            TrainingArguments options, TrainedModel model, TokenCorpus corpus, ProcessGroup group, long firstStep) {
        return String.format(
                Locale.ROOT,
                "training %.2fM parameters (%s) on %.1f %s, %d ranks x %d sequences, %s",
                model.parameterCount() / 1e6,
                options.definition().summary(),
                corpus.trainingTokens() / 1e6,
                corpus.isOfBytes() ? "MB of text" : "million tokens",
                group.size(),
                options.microBatch(),
                range(firstStep, options.steps()));
    }

    private static String range(long firstStep, int steps) {
        if (firstStep == 0) {
            return steps + " steps";
        }
        return firstStep < steps
                ? "from step " + firstStep + " to " + steps
                : "no step: the checkpoint has " + firstStep + " of --steps=" + steps
                        + " steps. Give more --steps to train on";
    }
}
