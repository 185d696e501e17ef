package io.jrun.examples.gpt;

import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.data.DistributedSampler;
import io.jrun.train.data.Remainder;
import io.jrun.train.data.SamplerOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.Step;
import java.util.Locale;
import java.util.Optional;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Main class of train.jar: trains a byte-level GPT on all ranks. It runs under jrun, or alone as a world of one rank. */
public final class TrainGpt {
    private static final int EXIT_USAGE = 2;
    private static final double MAX_GRADIENT_NORM = 1.0;

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

        try (var model = new DistributedDataParallel<>(new Gpt(options.model(), options.seed()), group)) {
            AdamW optimizer = new AdamW(model.module().parameters(), new AdamWOptions(options.learningRate()));
            Checkpoints checkpoints = new Checkpoints(options, group, model.module(), optimizer, progress);
            long firstStep = checkpoints.resume();
            SampleStream samples = new SampleStream(sampler, firstStep * options.batch());
            MeanLoss meanLoss = new MeanLoss(group);
            progress.say(description(options, model.module(), corpus, group, firstStep));
            progress.begin(
                    firstStep,
                    options.steps(),
                    (long) options.batch() * options.model().context() * group.size());

            for (long step = firstStep + 1; step <= options.steps(); step++) {
                optimizer.param_groups().get(0).options().set_lr(options.learningRateAt(step - 1));
                try (Step scope = model.step()) { // frees the native memory of this step at its end
                    Windows.Batch batch = windows.batch(samples.next(options.batch()));
                    optimizer.zero_grad();
                    Tensor loss = model.module().loss(batch.inputs(), batch.targets());
                    scope.backward(loss); // the gradients are now the mean over all ranks
                    torch.clip_grad_norm_(model.module().parameters(), MAX_GRADIENT_NORM);
                    optimizer.step();
                    meanLoss.add(loss.item_double());
                }
                if (step % options.logEvery() == 0 || step == options.steps()) {
                    progress.report(step, meanLoss.takeOverRanks());
                }
                if (step < options.steps() && (options.isCheckpointDue(step) || world.checkpointRequested())) {
                    checkpoints.save(step);
                }
            }
            progress.end(model.exposedCommunication());
            checkpoints.saveLast(Math.max(firstStep, options.steps()));
            evaluate(options, model.module(), corpus, group, progress);
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
