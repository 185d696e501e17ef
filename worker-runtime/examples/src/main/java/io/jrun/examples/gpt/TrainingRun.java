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
                options.checkpoint().ifPresent(folder -> save(folder, step));
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
        if (!options.resume() || options.checkpoint().isEmpty()) {
            return 0;
        }
        CheckpointDirectory directory =
                CheckpointDirectory.of(options.checkpoint().get());
        long[] step = {group.rank() == 0 ? directory.latest().orElse(-1) : -1};
        group.broadcast(MemorySegment.ofArray(step), DataType.I64, 1, 0);
        if (step[0] < 0) {
            return 0;
        }
        String saved = directory.metadata(step[0]).getOrDefault("model", "unknown");
        if (!saved.equals(options.model().summary())) {
            throw new UsageException("the checkpoint in " + options.checkpoint().get() + " is of a model with " + saved
                    + ", this run's has " + options.model().summary());
        }
        directory.load(step[0], model.module(), optimizer);
        return step[0];
    }

    private void save(Path folder, long step) {
        if (group.rank() == 0) {
            Map<String, String> metadata = Map.of("model", options.model().summary());
            Path written = CheckpointDirectory.of(folder).save(step, model.module(), optimizer, metadata);
            progress.say("checkpoint " + written);
        }
    }

    private void announce(long first) {
        if (group.rank() == 0) {
            progress.say(String.format(
                    Locale.ROOT,
                    "training %.2fM parameters (%s) on %.1f MB of text, %d ranks x %d sequences, %s",
                    model.module().parameterCount() / 1e6,
                    options.model().summary(),
                    corpus.trainBytes() / 1e6,
                    group.size(),
                    options.batch(),
                    first == 0 ? options.steps() + " steps" : "from step " + first + " to " + options.steps()));
        }
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
