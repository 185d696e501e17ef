package io.jrun.examples.gpt;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.ddp.BucketSpan;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.NoSync;
import io.jrun.train.ddp.ReductionTimeline;
import io.jrun.train.ddp.Step;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.metrics.StepPhase;
import io.jrun.train.optim.GradientClipping;
import io.jrun.train.precision.Autocast;
import io.jrun.train.precision.NonFiniteGuard;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.token.TokenBatch;
import java.util.Map;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The training loop of one rank. */
final class GptTrainer implements AutoCloseable {
    private final GptOptions options;
    private final GptRecipe recipe;
    private final World world;
    private final Map<String, Tensor> parameters;
    private final @Nullable NonFiniteGuard guard;
    private final DistributedDataParallel<Gpt> model;
    private final GptOptimizer optimizer;
    private final TrainingReport report;
    private final MeanLoss meanLoss;
    private double gradientNorm = Double.NaN;

    GptTrainer(GptOptions options, World world) {
        this.options = options;
        this.recipe = options.recipe();
        this.world = world;
        ProcessGroup group = world.group();
        Gpt module = new Gpt(options.model(), options.seed(), recipe.recompute());
        parameters = ModuleTensors.parameters(module);
        guard = recipe.onNonFinite()
                .map(policy -> new NonFiniteGuard(policy, parameters, group)) // before DDP averages the gradients
                .orElse(null);
        model = new DistributedDataParallel<>(module, group);
        recipe.communicationHook().ifPresent(model::registerHook);
        optimizer = GptOptimizer.of(recipe, model);
        report = new TrainingReport(options, module, world);
        meanLoss = new MeanLoss(group);
    }

    Gpt module() {
        return model.module();
    }

    DistributedDataParallel<Gpt> model() {
        return model;
    }

    GptOptimizer optimizer() {
        return optimizer;
    }

    /** Makes step {@code number}, from 1. */
    void step(long number, Supplier<TokenBatch> batches) {
        StepMetrics metrics = report.metrics();
        metrics.begin(number);
        try (Step scope = model.step()) { // frees the native memory of this step at its end
            optimizer.clear();
            double loss = 0;
            for (int i = 1; i < recipe.accumulate(); i++) {
                try (NoSync _ = model.noSync()) {
                    loss += pass(scope, batches);
                }
            }
            loss += pass(scope, batches); // the gradients are now the mean over all ranks
            ReductionTimeline timeline = model.lastReduction();
            metrics.record(
                    StepPhase.EXPOSED_COMMUNICATION,
                    timeline.lastGradientNanos(),
                    timeline.finishedNanos(),
                    timeline.buckets().stream().mapToLong(BucketSpan::bytes).sum());
            if (guard == null || guard.mayStep(number)) {
                try (var _ = metrics.phase(StepPhase.OPTIMIZER)) {
                    update(number);
                }
                meanLoss.add(loss);
            }
        }
        metrics.end(
                (long) options.batch() * recipe.accumulate() * options.model().context() * world.size());
    }

    /** Forward and backward pass of one batch. Returns the batch's part of the loss. */
    private double pass(Step scope, Supplier<TokenBatch> batches) {
        StepMetrics metrics = report.metrics();
        TokenBatch batch;
        try (var _ = metrics.phase(StepPhase.DATA)) {
            batch = batches.get();
        }
        Tensor loss;
        try (var _ = metrics.phase(StepPhase.FORWARD)) {
            loss = loss(batch);
        }
        if (guard != null) {
            guard.checkLoss(loss);
        }
        try (var _ = metrics.phase(StepPhase.BACKWARD)) {
            scope.backward(loss);
        }
        return loss.item_double();
    }

    private Tensor loss(TokenBatch batch) {
        Tensor loss;
        if (recipe.precision() == GptRecipe.Precision.BF16) {
            try (Autocast _ = Autocast.cpuBfloat16()) {
                loss = module().loss(batch.inputs(), batch.targets());
            }
        } else {
            loss = module().loss(batch.inputs(), batch.targets());
        }
        return recipe.accumulate() == 1 ? loss : loss.div(new Scalar((double) recipe.accumulate()));
    }

    private void update(long number) {
        if (recipe.clip() > 0) {
            gradientNorm = GradientClipping.clipByGlobalNorm(parameters.values(), recipe.clip());
        }
        optimizer.step(options.learningRateAt(number - 1));
    }

    /** Reports the mean loss of all ranks since the last report, and returns it. Collective. */
    double report(long number) {
        double loss = meanLoss.takeOverRanks();
        report.report(number, loss, gradientNorm, options.learningRateAt(number - 1));
        return loss;
    }

    /** The number of steps that were skipped because of values that are not finite. */
    long skipped() {
        return guard == null ? 0 : guard.skipped();
    }

    @Override
    public void close() {
        report.close();
        optimizer.close();
        model.close();
        if (guard != null) {
            guard.close();
        }
    }
}
