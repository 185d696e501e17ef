package io.jrun.examples.gpt;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.checkpoint.CheckpointDirectory;
import io.jrun.train.data.DistributedSampler;
import io.jrun.train.data.Remainder;
import io.jrun.train.data.SamplerOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.Step;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** One run on one rank: the training loop that this example is about. */
final class TrainingRun implements AutoCloseable {
    private static final double CLIP_NORM = 1.0;
    private static final String MODEL_KEY = "model";
    private static final String DATA_KEY = "data";

    private final GptOptions options;
    private final World world;
    private final ProcessGroup group;
    private final DistributedDataParallel<Gpt> model;
    private final AdamW optimizer;
    private final Corpus corpus;
    private final Progress progress;

    TrainingRun(GptOptions options, World world, Corpus corpus, Progress progress) {
        this.options = options;
        this.world = world;
        this.group = world.group();
        this.corpus = corpus;
        this.progress = progress;
        this.model = new DistributedDataParallel<>(new Gpt(options.model(), options.seed()), group);
        this.optimizer = new AdamW(model.module().parameters(), new AdamWOptions(options.learningRate()));
    }

    void run() {
        Windows windows = new Windows(corpus.train(), options.model().context());
        if (windows.count() < group.size()) {
            throw new UsageException("the text makes " + windows.count() + " windows of "
                    + options.model().context() + " bytes, too few for " + group.size()
                    + " ranks; give more text with --data or --max-bytes, or a smaller --context");
        }
        DistributedSampler sampler = DistributedSampler.of(
                windows.count(),
                group,
                SamplerOptions.TRAINING.withSeed(options.seed()).withRemainder(Remainder.DROP));
        long first = resume();
        announce(first);
        SampleStream samples = new SampleStream(sampler, first * options.batch());
        train(windows, samples, first);
        options.checkpoint().ifPresent(folder -> save(folder, Math.max(first, options.steps())));
        finish();
    }

    private void train(Windows windows, SampleStream samples, long first) {
        double lossSum = 0;
        long lossCount = 0;
        long since = System.nanoTime();
        long commBefore = model.exposedCommunication().toNanos();
        for (long done = first; done < options.steps(); done++) {
            lossSum += trainStep(windows, samples, done);
            lossCount++;
            long step = done + 1;
            if (step % options.logEvery() == 0 || step == options.steps()) {
                double loss = mean(lossSum, lossCount);
                long nanos = System.nanoTime() - since;
                long comm = model.exposedCommunication().toNanos() - commBefore;
                report(step, loss, lossCount, nanos, comm);
                lossSum = 0;
                lossCount = 0;
                since += nanos;
                commBefore += comm;
            }
            boolean isDue = options.checkpointEvery() > 0 && step % options.checkpointEvery() == 0;
            if ((isDue || world.checkpointRequested()) && step < options.steps()) {
                options.checkpoint()
                        .ifPresentOrElse(
                                folder -> save(folder, step),
                                () -> say("a checkpoint was asked for, but there is no --checkpoint=DIR"));
            }
        }
    }

    private double trainStep(Windows windows, SampleStream samples, long done) {
        optimizer.param_groups().get(0).options().set_lr(options.learningRateAt(done));
        try (Step step = model.step()) {
            Windows.Batch batch = windows.batch(samples.next(options.batch()));
            optimizer.zero_grad();
            Tensor loss = model.module().loss(batch.inputs(), batch.targets());
            step.backward(loss);
            torch.clip_grad_norm_(model.module().parameters(), CLIP_NORM);
            optimizer.step();
            return loss.item_double();
        }
    }

    private double mean(double sum, long count) {
        double[] both = {sum, count};
        group.allReduce(MemorySegment.ofArray(both), DataType.F64, 2, ReduceOp.SUM);
        return both[0] / both[1];
    }

    private void report(long step, double loss, long steps, long nanos, long commNanos) {
        if (group.rank() == 0) {
            double tokens = (double) steps * options.batch() * options.model().context() * group.size();
            progress.report(step, loss, tokens * 1e9 / nanos, commNanos / (double) nanos);
        }
    }

    /** Rank 0 decides which checkpoint it is, since files may appear on other nodes a little later. */
    private long resume() {
        if (options.checkpoint().isEmpty()) {
            return 0;
        }
        Path folder = options.checkpoint().get();
        CheckpointDirectory directory = CheckpointDirectory.of(folder);
        long[] step = {group.rank() == 0 ? directory.latest().orElse(-1) : -1};
        group.broadcast(MemorySegment.ofArray(step), DataType.I64, 1, 0);
        if (step[0] < 0) {
            return 0;
        }
        if (!options.resume()) {
            throw new UsageException(folder + " holds the checkpoint of step " + step[0]
                    + " already; go on from it with --resume, or choose another --checkpoint");
        }
        Map<String, String> saved = directory.metadata(step[0]);
        String savedModel = saved.getOrDefault(MODEL_KEY, "unknown");
        if (!savedModel.equals(options.model().summary())) {
            throw new UsageException("the checkpoint in " + folder + " is of a model with " + savedModel
                    + ", this run's has " + options.model().summary());
        }
        String savedOrder = saved.getOrDefault(DATA_KEY, "unknown");
        if (!savedOrder.equals(dataOrder())) {
            say("note: the checkpoint was trained with " + savedOrder + ", this run has " + dataOrder()
                    + "; it goes on with another order of the data");
        }
        directory.load(step[0], model.module(), optimizer);
        return step[0];
    }

    /** What decides which samples a step sees. */
    private String dataOrder() {
        return String.format(
                Locale.ROOT, "seed %d, %d ranks x %d sequences", options.seed(), group.size(), options.batch());
    }

    private void save(Path folder, long step) {
        if (group.rank() == 0) {
            Map<String, String> metadata = Map.of(MODEL_KEY, options.model().summary(), DATA_KEY, dataOrder());
            Path written = CheckpointDirectory.of(folder).save(step, model.module(), optimizer, metadata);
            progress.say("checkpoint " + written);
        }
    }

    private void say(String line) {
        if (group.rank() == 0) {
            progress.say(line);
        }
    }

    private void announce(long first) {
        say(String.format(
                Locale.ROOT,
                "training %.2fM parameters (%s) on %.1f MB of text, %d ranks x %d sequences, %s",
                model.module().parameterCount() / 1e6,
                options.model().summary(),
                corpus.trainBytes() / 1e6,
                group.size(),
                options.batch(),
                first == 0 ? options.steps() + " steps" : "from step " + first + " to " + options.steps()));
    }

    private void finish() {
        byte[] heldOut = corpus.heldOut();
        Windows windows = new Windows(heldOut, options.model().context());
        double loss = Evaluation.heldOutLoss(model.module(), windows, group);
        if (group.rank() == 0) {
            progress.say(String.format(
                    Locale.ROOT,
                    "held-out loss %.4f nats/byte (unigram entropy of the same text %.4f, bigram %.4f)",
                    loss,
                    Entropy.unigram(heldOut),
                    Entropy.bigram(heldOut)));
            if (options.sample() > 0) {
                progress.say(TextGenerator.generate(model.module(), options.sample(), options.seed()));
            }
        }
    }

    @Override
    public void close() {
        model.close();
    }
}
