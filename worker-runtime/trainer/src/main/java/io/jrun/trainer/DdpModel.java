package io.jrun.trainer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DdpReport;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.JoinOptions;
import io.jrun.train.ddp.hook.OptimizerHook;
import io.jrun.train.ddp.hook.PowerSgdHook;
import io.jrun.train.device.StepGraph;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.ReductionClock;
import io.jrun.train.reducer.StepTimes;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Each rank has the whole parameters, or its part of the experts and all others. With stages 1 and 2 of ZeRO the ranks
 * share the states of the optimizer.
 */
final class DdpModel implements TrainedModel {
    private final DistributedDataParallel<TrainableModel> model;
    private final TrainingOptimizer optimizer;
    private final ShardedState state;
    private final ExchangeOptions exchange;
    private final @Nullable PowerSgdHook powerSgd;
    private final @Nullable LocalSgd localSgd;
    private final boolean keepsGradients;
    private final boolean hasAll;
    private long recordedNanos;
    private long recordedBytes;

    DdpModel(TrainingArguments options, DeviceMesh mesh, FiniteSteps checks, @Nullable StepGraph graph) {
        ProcessGroup group = ParallelOptions.dataGroup(mesh);
        TrainableModel module = TrainedModel.build(options, mesh, _ -> {});
        TrainingRecipe recipe = options.recipe();
        checks.watch(module);
        exchange = recipe.exchange();
        GradientPlacement placement = options.parallel().gradientPlacement();
        keepsGradients = placement != GradientPlacement.SHARDED_GRADIENTS;
        model = replica(module, group, exchange.ddp().withPlacement(placement), graph);
        int neighbours = exchange.localSgdRanks();
        localSgd = neighbours == 0 ? null : new LocalSgd(group, neighbours);
        CommunicationHook hook = localSgd == null ? exchange.communicationHook() : localSgd.hook();
        powerSgd = hook instanceof PowerSgdHook kept ? kept : null;
        if (placement != GradientPlacement.REPLICATED) {
            optimizer = ZeroStates.of(recipe.update(), model.reducer());
        } else {
            optimizer = TrainingOptimizer.of(recipe.update(), Parameters.of(module), model.gradientMemory());
            model.registerHook(checks.before(withUpdate(hook, recipe.update())));
        }
        state = new ShardedState(Parameters.withBuffers(module, ParallelOptions.dataAxis(mesh)));
        hasAll = powerSgd == null
                && recipe.precision() != TrainingRecipe.Precision.FP8
                && placement == GradientPlacement.REPLICATED
                && options.parallel().experts() == 1;
    }

    /** The node that adds to a gradient runs on the stream that is current when its hook is added. */
    private static DistributedDataParallel<TrainableModel> replica(
            TrainableModel module, ProcessGroup group, DdpOptions options, @Nullable StepGraph graph) {
        try (StepGraph.OpenStream _ = graph == null ? () -> {} : graph.onStream()) {
            return new DistributedDataParallel<>(module, group, options);
        }
    }

    private CommunicationHook withUpdate(CommunicationHook hook, UpdateOptions update) {
        return update.isInHook() && optimizer instanceof TrainingOptimizer.Flat flat
                ? new OptimizerHook(hook, bucket -> flat.optimizer().update(bucket.names()))
                : hook;
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
        return hasAll ? Holding.ALL : Holding.PARTS;
    }

    @Override
    public Map<String, Tensor> ownState() {
        return powerSgd == null ? Map.of() : powerSgd.state();
    }

    @Override
    public void loadOwnState(Map<String, Tensor> own) {
        if (powerSgd != null) {
            powerSgd.load(own);
        }
    }

    @Override
    public Step step() {
        return model.step();
    }

    /** Whole gradients would need the memory that stage 2 of ZeRO saves: each pass is then reduced. */
    @Override
    public NoSync noSync() {
        return keepsGradients ? model.noSync() : new NoSync(() -> {});
    }

    @Override
    public void join(JoinOptions how, Runnable update, Runnable training) {
        model.join(how, update, training::run);
    }

    @Override
    public void stepDone() {
        if (localSgd != null) {
            localSgd.stepDone(parameters());
        }
    }

    @Override
    public void trainingDone() {
        if (localSgd != null) {
            localSgd.average(parameters());
        }
    }

    @Override
    public void recordCommunication(StepMetrics metrics) {
        ReductionClock clock = model.reducer().clock();
        long end = clock.last().finishedNanos();
        metrics.recordWaitOfBackward(
                end - (clock.exposedNanos() - recordedNanos), end, clock.reducedBytes() - recordedBytes);
        recordedNanos = clock.exposedNanos();
        recordedBytes = clock.reducedBytes();
    }

    @Override
    public Optional<String> summary() {
        return exchange.reports() ? Optional.of(text(model.report())) : Optional.empty();
    }

    private static String text(DdpReport report) {
        StepTimes mean = report.mean();
        return String.format(
                Locale.ROOT,
                "DDP: %d reductions by %s, %d parameters in %d buckets%s; mean of a step: forward %.2f ms, backward"
                        + " %.2f ms, communication %.2f ms, overlap %.2f ms, exposed %.2f ms; overlap of each bucket in"
                        + " the last step: %s",
                report.reductions(),
                report.hook(),
                report.parameterTensors(),
                report.buckets().size(),
                report.isRebuilt() ? " in the order of the gradients" : "",
                millis(mean.forward()),
                millis(mean.backward()),
                millis(mean.communication()),
                millis(mean.overlap()),
                millis(mean.exposed()),
                report.overlapPerBucket().stream()
                        .map(part -> String.format(Locale.ROOT, "%.2f", part))
                        .collect(Collectors.joining(" ")));
    }

    private static double millis(Duration time) {
        return time.toNanos() / 1e6;
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
