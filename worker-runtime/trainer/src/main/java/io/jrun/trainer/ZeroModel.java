package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.module.ModuleWrapper;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.zero.ZeroDataParallel;
import java.time.Duration;
import java.util.function.Consumer;

/** Stage 2 of ZeRO: each rank has all parameters, and a part of the gradients and of the optimizer's states. */
final class ZeroModel implements TrainedModel {
    private final ZeroDataParallel<TrainableModel> model;
    private final ZeroStates optimizer;
    private final ShardedState state;
    private long recordedNanos;
    private long recordedBytes;

    ZeroModel(TrainingArguments options, DeviceMesh mesh, Consumer<TrainableModel> built) {
        TrainableModel module = TrainedModel.build(options, mesh.world(), ModuleWrapper.NONE);
        built.accept(module);
        model = new ZeroDataParallel<>(module, ParallelOptions.dataGroup(mesh), DdpOptions.DEFAULT);
        optimizer = ZeroStates.stageTwo(options.recipe().update(), model);
        state = new ShardedState(Parameters.withBuffers(module));
    }

    @Override
    public TrainableModel module() {
        return model.module();
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
        return model.step();
    }

    /** Whole gradients would need the memory that this stage saves: each pass is reduced. */
    @Override
    public NoSync noSync() {
        return new NoSync(() -> {});
    }

    /** The waits are spread over the backward pass; they count as one span at its end. */
    @Override
    public void recordCommunication(StepMetrics metrics) {
        long waited = model.exposedCommunication().toNanos();
        long bytes = model.reducedBytes();
        long end = System.nanoTime();
        metrics.recordWaitOfBackward(end - (waited - recordedNanos), end, bytes - recordedBytes);
        recordedNanos = waited;
        recordedBytes = bytes;
    }

    @Override
    public Duration exposedCommunication() {
        return model.exposedCommunication();
    }

    @Override
    public void close() {
        optimizer.close();
        model.close();
    }
}
