package io.jrun.examples.gpt;

import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.data.DistributedSampler;
import io.jrun.train.data.Remainder;
import io.jrun.train.data.SamplerOptions;
import java.util.Locale;
import java.util.Optional;
import org.bytedeco.pytorch.global.torch;

/** Main class of train.jar: trains a byte-level GPT on all ranks. It runs under jrun, or alone as a world of one rank. */
public final class TrainGpt {
    private static final int EXIT_USAGE = 2;

    private TrainGpt() {}

    /** Trains. Unusable arguments or data end the program with one line on stderr and exit code 2. */
    public static void main(String[] args) {
        int exitCode = 0;
        try (World world = Distributed.init()) {
            try {
                run(args, world);
            } catch (InvalidArgumentException e) {
                System.err.println("train: " + e.getMessage());
                exitCode = EXIT_USAGE;
            }
        }
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    private static void run(String[] args, World world) {
        Optional<GptOptions> parsed = GptOptions.parse(args);
        boolean prints = world.rank() == 0;
        if (parsed.isEmpty()) {
            if (prints) {
                System.out.print(GptOptions.HELP);
            }
            return;
        }
        GptOptions options = parsed.get();
        Libtorch.setThreads(options.threads() > 0 ? options.threads() : defaultThreads(world));
        train(options, world, prints ? Progress.onStdout() : Progress.SILENT);
    }

    /** jrun divides the cores among several workers. A single worker is fastest with one thread. */
    private static int defaultThreads(World world) {
        Libtorch.load();
        return world.size() > 1 ? torch.get_num_threads() : 1;
    }

    /** The whole training, as every rank runs it. Only rank 0 has a {@code progress} that prints. */
    static void train(GptOptions options, World world, Progress progress) {
        ProcessGroup group = world.group();
        Corpus corpus = Corpus.load(options);
        Windows windows = new Windows(corpus.train(), options.model().context());
        if (windows.count() < group.size()) {
            throw new InvalidArgumentException("the text makes " + windows.count() + " windows of "
                    + options.model().context() + " bytes, too few for " + group.size()
                    + " ranks; give more text with --data or --max-bytes, or a smaller --context");
        }
        SamplerOptions order = SamplerOptions.TRAINING.withSeed(options.seed()).withRemainder(Remainder.DROP);
        DistributedSampler sampler = DistributedSampler.of(windows.count(), group, order);

        try (var trainer = new GptTrainer(options, world)) {
            int perStep = options.batch() * options.recipe().accumulate();
            Checkpoints checkpoints = new Checkpoints(options, group, trainer.optimizer(), progress);
            long firstStep = checkpoints.resume();
            SampleStream samples = new SampleStream(sampler, firstStep * perStep);
            progress.say(description(options, trainer.module(), corpus, group, firstStep));
            progress.begin(
                    firstStep, options.steps(), (long) perStep * options.model().context() * group.size());

            for (long step = firstStep + 1; step <= options.steps(); step++) {
                trainer.step(step, () -> windows.batch(samples.next(options.batch())));
                if (step % options.logEvery() == 0 || step == options.steps()) {
                    progress.report(step, trainer.report(step));
                }
                if (step < options.steps() && (options.isCheckpointDue(step) || world.checkpointRequested())) {
                    checkpoints.save(step);
                }
            }
            progress.end(trainer.model().exposedCommunication());
            if (trainer.skipped() > 0) {
                progress.say(trainer.skipped() + " steps were skipped: a loss or a gradient was not finite");
            }
            checkpoints.saveLast(Math.max(firstStep, options.steps()));
            evaluate(options, trainer.module(), corpus, group, progress);
        }
    }

    private static void evaluate(GptOptions options, Gpt model, Corpus corpus, ProcessGroup group, Progress progress) {
        Windows windows = new Windows(corpus.heldOut(), options.model().context());
        double loss = Evaluation.heldOutLoss(model, windows, group);
        if (group.groupRank() == 0) {
            progress.say(String.format(
                    Locale.ROOT,
                    "held-out loss %.4f nats/byte (bigram baseline %.4f)",
                    loss,
                    new BigramModel(corpus.train()).loss(corpus.heldOut(), windows.bytesPredicted())));
            if (options.sample() > 0) {
                progress.say(TextGenerator.generate(model, options.sample(), options.seed()));
            }
        }
    }

    private static String description(
            GptOptions options, Gpt model, Corpus corpus, ProcessGroup group, long firstStep) {
        return String.format(
                Locale.ROOT,
                "training %.2fM parameters (%s) on %.1f MB of text, %d ranks x %d sequences, %s",
                model.parameterCount() / 1e6,
                options.model().summary(),
                corpus.trainBytes() / 1e6,
                group.size(),
                options.batch(),
                firstStep == 0 ? options.steps() + " steps" : "from step " + firstStep + " to " + options.steps());
    }
}
