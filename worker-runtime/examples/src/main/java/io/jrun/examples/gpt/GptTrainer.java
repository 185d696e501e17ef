package io.jrun.examples.gpt;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.metrics.StepPhase;
import io.jrun.train.precision.Autocast;
import io.jrun.train.precision.NonFiniteGuard;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.token.TokenBatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The training loop of one rank. */
final class GptTrainer implements AutoCloseable {
    private final GptOptions options;
    private final GptRecipe recipe;
    private final int dataRanks;
    private final @Nullable NonFiniteGuard guard;
    private final TrainedModel model;
    private final TrainingReport report;
    private final MeanLoss meanLoss;
    private double gradientNorm = Double.NaN;

    /** @param mesh has the axes of {@link ParallelOptions} */
    GptTrainer(GptOptions options, World world, DeviceMesh mesh) {
        this.options = options;
        this.recipe = options.recipe();
        ProcessGroup group = ParallelOptions.gradientGroup(mesh);
        this.dataRanks = ParallelOptions.dataGroup(mesh).size();
        AtomicReference<@Nullable NonFiniteGuard> made = new AtomicReference<>();
        model = TrainedModel.of(
                options,
                mesh,
                module -> recipe.onNonFinite()
                        .ifPresent(policy ->
                                made.set(new NonFiniteGuard(policy, ModuleTensors.parameters(module), group))));
        guard = made.get();
        report = new TrainingReport(options, model.activeParameterCount(), world);
        meanLoss = new MeanLoss(group);
    }

    TrainedModel model() {
        return model;
    }

    /** Makes step {@code number}, from 1. */
    void step(long number, Supplier<TokenBatch> batches) {
        StepMetrics metrics = report.metrics();
        metrics.begin(number);
        try (TrainedModel.Scope scope = model.step()) { // frees the native memory of this step at its end
            model.optimizer().clear();
            double loss = model instanceof MeshModel pipeline ? pipeline.run(batches) : passes(scope, batches);
            TrainedModel.Exposure exposure = model.lastExposure();
            metrics.record(
                    StepPhase.EXPOSED_COMMUNICATION, exposure.beginNanos(), exposure.endNanos(), exposure.bytes());
            if (guard == null || guard.mayStep(number)) {
                try (var _ = metrics.phase(StepPhase.OPTIMIZER)) {
                    update(number);
                }
                meanLoss.add(loss);
            }
        }
        metrics.end((long) options.microBatch()
                * recipe.accumulate()
                * options.model().context()
                * dataRanks);
    }

    /** All passes of a step. The gradients are then the means over all ranks. */
    private double passes(TrainedModel.Scope scope, Supplier<TokenBatch> batches) {
        double loss = 0;
        for (int i = 1; i < recipe.accumulate(); i++) {
            try (TrainedModel.Pause _ = model.noSync()) {
                loss += pass(scope, batches);
            }
        }
        return loss + pass(scope, batches);
    }

    /** Forward and backward pass of one batch. Returns the batch's part of the loss. */
    private double pass(TrainedModel.Scope scope, Supplier<TokenBatch> batches) {
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
        LanguageModel module = model.module();
        Tensor loss;
        if (recipe.precision() == GptRecipe.Precision.BF16) {
            try (Autocast _ = Autocast.cpuBfloat16()) {
                loss = module.loss(batch.inputs(), batch.targets());
            }
        } else {
            loss = module.loss(batch.inputs(), batch.targets());
        }
        return recipe.accumulate() == 1 ? loss : loss.div(new Scalar((double) recipe.accumulate()));
    }

    private void update(long number) {
        if (recipe.clip() > 0) {
            gradientNorm = model.clip(recipe.clip());
        }
        model.optimizer().step(options.learningRateAt(number - 1));
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
        model.close();
        if (guard != null) {
            guard.close();
        }
    }
}
