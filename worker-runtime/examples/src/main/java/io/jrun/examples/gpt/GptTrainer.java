package io.jrun.examples.gpt;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.metrics.StepPhase;
import io.jrun.train.precision.Autocast;
import io.jrun.train.token.TokenBatch;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The training loop of one rank. */
final class GptTrainer implements AutoCloseable {
    private final GptOptions options;
    private final GptRecipe recipe;
    private final int dataRanks;
    private final FiniteSteps checks;
    private final TrainedModel model;
    private final @Nullable ParameterAverage average;
    private final TrainingReport report;
    private final MeanLoss meanLoss;
    private double gradientNorm = Double.NaN;

    /** @param mesh has the axes of {@link ParallelOptions} */
    GptTrainer(GptOptions options, World world, DeviceMesh mesh) {
        this.options = options;
        this.recipe = options.recipe();
        ProcessGroup group = ParallelOptions.gradientGroup(mesh);
        this.dataRanks = ParallelOptions.dataGroup(mesh).size();
        checks = new FiniteSteps(recipe, group);
        model = TrainedModel.of(options, mesh, checks::watch);
        average = recipe.averageDecay() > 0 ? ParameterAverage.of(model.module(), recipe.averageDecay()) : null;
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
            if (checks.mayUpdate(number, model.module())) {
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
        Tensor checked = checks.checked(loss);
        try (var _ = metrics.phase(StepPhase.BACKWARD)) {
            scope.backward(checked);
        }
        return loss.item_double();
    }

    private Tensor loss(TokenBatch batch) {
        LanguageModel module = model.module();
        Tensor loss;
        try (Autocast _ = recipe.precision().autocast()) {
            loss = module.loss(batch.inputs(), batch.targets());
        }
        return recipe.accumulate() == 1 ? loss : loss.div(new Scalar((double) recipe.accumulate()));
    }

    private void update(long number) {
        if (recipe.clip() > 0) {
            gradientNorm = model.clip(recipe.clip());
        }
        model.optimizer().step(options.learningRateAt(number - 1));
        model.stepDone();
        if (average != null) {
            average.average().update();
        }
    }

    /** Reports the mean loss of all ranks since the last report, and returns it. Collective. */
    double report(long number) {
        double loss = meanLoss.takeOverRanks();
        report.report(number, loss, gradientNorm, options.learningRateAt(number - 1));
        return loss;
    }

    /** The steps that were skipped because of values that are not finite. */
    FiniteSteps checks() {
        return checks;
    }

    /** Ends the training. The parameters of the model are then the averages of {@code --ema}, if there are any. */
    void useAverage() {
        if (average != null && average.average().updates() > 0) {
            average.average().swap();
        }
    }

    /** Adds the state beside model and optimizer to a checkpoint. */
    void put(StateDict state) {
        checks.put(state);
        if (average != null) {
            average.put(state);
        }
    }

    /** Loads the state beside model and optimizer from a checkpoint. */
    void load(SavedCheckpoint saved) {
        checks.load(saved);
        if (average != null) {
            average.load(saved);
        }
    }

    @Override
    public void close() {
        report.close();
        model.close();
        checks.close();
        if (average != null) {
            average.close();
        }
    }
}
