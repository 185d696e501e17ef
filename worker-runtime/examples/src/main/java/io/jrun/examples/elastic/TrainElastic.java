package io.jrun.examples.elastic;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.elastic.Elastic;
import io.jrun.comm.elastic.ElasticRound;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.ModelState;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.elastic.ElasticSampler;
import io.jrun.train.elastic.TrainingState;
import io.jrun.train.step.Step;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Trains a small network. When a worker is killed, the other workers continue with a new worker in its place. */
public final class TrainElastic {
    private static final int REPORT_EVERY = 10;
    private static final long HOLD_NANOS = 10_000_000;
    private static final double LEARNING_RATE = 0.1;
    private static final double MOMENTUM = 0.9;

    private final ElasticOptions options;
    private final TrainingState<SpiralNet, SGD> state;

    private TrainElastic(ElasticOptions options) {
        this.options = options;
        SpiralNet model = new SpiralNet(1);
        ElasticSampler sampler = new ElasticSampler(Spirals.SAMPLES, options.batch(), 1);
        this.state = new TrainingState<>(model, () -> optimizer(model), sampler);
        options.checkpoint()
                .ifPresent(folder -> state.checkpointed(
                        CheckpointManager.alone(folder, Retention.DEFAULT), options.checkpointEvery()));
    }

    private static SGD optimizer(SpiralNet model) {
        SGDOptions sgd = new SGDOptions(LEARNING_RATE);
        sgd.momentum().put(MOMENTUM);
        return new SGD(model.parameters(), sgd);
    }

    /** Trains; exits with 2 and a line on stderr if the arguments are unusable. */
    public static void main(String[] args) throws InterruptedException {
        Optional<ElasticOptions> options = ElasticOptions.parseOrExit(ElasticOptions.ELASTIC, args);
        if (options.isEmpty()) {
            return;
        }
        Libtorch.load();
        Libtorch.setThreads(1);
        TrainElastic training = new TrainElastic(options.get());
        Elastic.run(training.state, training::train);
        training.finish();
    }

    private void train(ElasticRound round) throws InterruptedException {
        System.out.printf(
                Locale.ROOT,
                "rank %d of %d (pid %d) begins at step %d%n",
                round.world().rank(),
                round.world().size(),
                ProcessHandle.current().pid(),
                state.step());
        long first = state.step() + 1;
        try (var model = new DistributedDataParallel<>(state.model(), round.group())) {
            while (state.step() < options.steps()) {
                options.hold((int) state.step()).ifPresent(file -> hold(file, round));
                step(model, round, first);
                round.commit();
                TimeUnit.MILLISECONDS.sleep(options.pauseMillis());
            }
        }
        if (round.world().rank() == 0) {
            options.out().ifPresent(file -> Safetensors.write(file, ModelState.of(state.model()), Map.of()));
        }
    }

    /** Waits until {@code file} exists for one rank. All ranks wait together. Workers may be lost or join meanwhile. */
    private void hold(Path file, ElasticRound round) {
        System.out.printf(
                Locale.ROOT, "rank %d waits at step %d%n", round.world().rank(), state.step());
        float[] seen = {0};
        while (seen[0] == 0) {
            seen[0] = Files.exists(file) ? 1 : 0;
            round.group().allReduce(MemorySegment.ofArray(seen), DataType.F32, 1, ReduceOp.SUM);
            round.commit();
            LockSupport.parkNanos(HOLD_NANOS);
        }
    }

    private void step(DistributedDataParallel<SpiralNet> model, ElasticRound round, long first) {
        try (Step step = model.step()) {
            ElasticSampler.Share share = state.sampler().next(round.group());
            state.optimizer().zero_grad();
            Tensor loss = state.model().loss(share.samples());
            step.backward(loss.mul(new Scalar(share.weight())));
            state.optimizer().step();
            state.stepDone();
            boolean reports = state.step() % REPORT_EVERY == 0 || state.step() == first;
            if (reports && round.world().rank() == 0) {
                System.out.printf(
                        Locale.ROOT, "step %d: loss of rank 0's samples %.4f%n", state.step(), loss.item_double());
            }
        }
    }

    private void finish() {
        try (PointerScope _ = new PointerScope()) {
            double loss = state.model()
                    .loss(LongStream.range(0, Spirals.SAMPLES).toArray())
                    .item_double();
            System.out.printf(Locale.ROOT, "after step %d: loss of all samples %.6f%n", state.step(), loss);
        }
    }
}
