package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.fsdp.CommunicationSpan;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Each rank has a part of the parameters, the gradients and the optimizer's states. Each layer is a unit. */
final class FsdpModel implements TrainedModel {
    private final FullyShardedDataParallel parallel;
    private final TrainableModel module;
    private final TrainingOptimizer optimizer;
    private final ShardedState state;
    private long exposedNanos;
    private long steps;
    private long fileBytes;
    private long fileWaitNanos;
    private long forwardWaitNanos;
    private long backwardWaitNanos;

    /** The time for which the step had waited at the end of its last backward pass. */
    private long endedPassNanos;

    FsdpModel(TrainingArguments options, DeviceMesh mesh, Consumer<TrainableModel> built) {
        MeshAxis shards = mesh.axis(ParallelOptions.SHARD_AXIS);
        OffloadedStates files = options.parallel()
                .offload()
                .map(folder -> OffloadedStates.open(options.recipe().update(), folder, shards.group()))
                .orElse(null);
        parallel = files == null
                ? options.parallel().fullySharded(mesh)
                : new FullyShardedDataParallel(
                        shards,
                        FsdpOptions.DEFAULT.withReshardAfterForward(
                                options.parallel().reshardAfterForward()),
                        files.optimizer());
        module = TrainedModel.build(options, mesh, block -> FullyShard.apply(block, parallel));
        ParallelChecks.checkBuffers(module);
        FullyShard.apply(module, parallel);
        built.accept(module);
        optimizer = files == null
                ? TrainingOptimizer.of(options.recipe().update(), parallel.parameters(), parallel.gradientMemory())
                : files;
        state = new ShardedState(parallel.parameters());
    }

    @Override
    public TrainableModel module() {
        return module;
    }

    @Override
    public TrainingOptimizer optimizer() {
        return optimizer;
    }

    @Override
    public ShardedState state() {
        return state;
    }

    @Override
    public Holding holding() {
        return Holding.PARTS;
    }

    @Override
    public Step step() {
        Step step = parallel.step();
        forwardWaitNanos = 0;
        backwardWaitNanos = 0;
        endedPassNanos = waitedNanos();
        return new Step(
                loss -> {
                    long before = waitedNanos();
                    forwardWaitNanos += before - endedPassNanos;
                    step.backward(loss);
                    endedPassNanos = waitedNanos();
                    backwardWaitNanos += endedPassNanos - before;
                },
                step::close);
    }

    /** The time for which this step has waited so far. */
    private long waitedNanos() {
        return transfers(true).mapToLong(CommunicationSpan::waitedNanos).sum();
    }

    /** The collectives of this step, or its reads and writes of files. */
    private Stream<CommunicationSpan> transfers(boolean areCollectives) {
        return parallel.spans().stream().filter(span -> span.kind().isCollective() == areCollectives);
    }

    /** With states in files each pass is reduced: whole gradients would need the memory that the files save. */
    @Override
    public NoSync noSync() {
        if (optimizer instanceof OffloadedStates) {
            return new NoSync(() -> {});
        }
        return parallel.noSync();
    }

    @Override
    public Map<String, ShardedTensor> parameters() {
        return parallel.parameters();
    }

    /** The waits are spread over the passes. The report shows the waits as one span at the end of the step. */
    @Override
    public void recordCommunication(StepMetrics metrics) {
        steps++;
        transfers(false).forEach(span -> {
            fileBytes += span.bytes();
            fileWaitNanos += span.waitedNanos();
        });
        long waited = waitedNanos();
        exposedNanos += waited;
        long end = System.nanoTime();
        metrics.recordWaitOfPasses(
                end - waited,
                end,
                transfers(true).mapToLong(CommunicationSpan::bytes).sum(),
                forwardWaitNanos,
                backwardWaitNanos);
    }

    @Override
    public Duration exposedCommunication() {
        return Duration.ofNanos(exposedNanos);
    }

    /** The bytes that a rank with states in files has read and written in forward and backward passes. */
    @Override
    public Optional<String> summary() {
        return fileBytes == 0
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "files: rank 0 read and wrote %.1f MB a step in its passes, and waited %.1f ms a step for them",
                        fileBytes / 1e6 / steps,
                        fileWaitNanos / 1e6 / steps));
    }

    @Override
    public void close() {
        optimizer.close();
    }
}
