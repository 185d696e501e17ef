package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.checkpoint.sharded.SavedCheckpoint;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.device.DeviceCopies;
import io.jrun.train.device.StepGraph;
import io.jrun.train.expert.MixtureOfExperts;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.layer.Float8Layers;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.ReplicaCheck;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.metrics.StepPhase;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.optim.Gradients;
import io.jrun.train.precision.Autocast;
import io.jrun.train.precision.FiniteParameters;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.DeferredNumber;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** The steps of one rank: forward and backward passes, checks, clip and update. */
final class TrainingSteps implements AutoCloseable {
    private final TrainingArguments options;
    private final TrainingRecipe recipe;
    private final int dataRanks;
    private final DeviceCopies copies;
    private final FiniteSteps checks;
    private final TrainedModel model;
    private final @Nullable ParameterAverage average;
    private final TrainingReport report;
    private final MeanLoss meanLoss;
    private final HeldOutLosses heldOutLosses = new HeldOutLosses();
    /** The numbers of a model on a device; null on the CPU, and for a pipeline, which knows its loss after each step. */
    private final @Nullable DeviceNumbers numbers;

    /** The layers whose routers scale losses of their own. */
    private final Collection<MixtureOfExperts> experts;

    /** The linear layers of {@code --precision=fp8}. */
    private final @Nullable Float8Layers float8;
    /** Null without {@code --cuda-graph}. */
    private final @Nullable CapturedPasses captured;

    /** Decides the random numbers, such as masks of dropout layers, which differ between the data ranks. */
    private final long seeds;

    /** The layers with random numbers of their own. */
    private final Collection<DropoutLayer> dropouts;

    private final World world;
    private final @Nullable ReplicaCheck replicas;
    private long checkedStep;
    private double lastLoss;
    private double gradientNorm = Double.NaN;

    /** @param mesh has the axes of {@link ParallelOptions} */
    TrainingSteps(TrainingArguments options, World world, DeviceMesh mesh) {
        this.options = options;
        this.world = world;
        this.recipe = options.recipe();
        ProcessGroup group = ParallelOptions.gradientAxis(mesh).group();
        this.dataRanks = ParallelOptions.dataGroup(mesh).size();
        Device device = options.device().device();
        copies = DeviceCopies.to(device);
        checks = new FiniteSteps(recipe, options.parallel().sharesLayers() ? world.group() : group);
        captured = options.device().usesGraph() ? new CapturedPasses(device, recipe.accumulate()) : null;
        model = TrainedModel.of(options, mesh, checks, captured == null ? null : captured.graph());
        dropouts = model.module().descendants(DropoutLayer.class).values();
        experts = Experts.layers(model.module()).values();
        float8 = recipe.precision() == TrainingRecipe.Precision.FP8
                ? new Float8Layers(model.module().descendants(LinearLayer.class))
                : null;
        // Ranks that are threads share libtorch's generator: no step may seed it while a rank takes first values from
        // it.
        world.group().barrier();
        seeds = new SplittableRandom(((long) options.seed() << Integer.SIZE)
                        + ParallelOptions.dataGroup(mesh).groupRank())
                .nextLong();
        if (model instanceof MeshModel || !device.isCpu()) {
            checks.watchAfterPasses(model.parameters());
        }
        average = recipe.update().averageDecay() > 0
                ? ParameterAverage.of(model, recipe.update().averageDecay())
                : null;
        report = new TrainingReport(options, Experts.activeParameters(model.module(), model.parameters()), world);
        meanLoss = new MeanLoss(group);
        numbers = device.isCpu() || model instanceof MeshModel ? null : new DeviceNumbers(group, device);
        // Without the buffers, such as those of batch norm: they follow the samples of each rank.
        replicas = hasReplicas(options) ? ReplicaCheck.of(mesh, model.parameters()) : null;
    }

    /**
     * Parameters of --local-sgd differ between two averages, those of --offload are in files, and ranks of --uneven
     * make other numbers of steps.
     */
    private static boolean hasReplicas(TrainingArguments options) {
        return options.checkpoints().checkReplicas() > 0
                && options.recipe().exchange().localSgdRanks() == 0
                && options.recipe().exchange().unevenEnd().isEmpty()
                && options.parallel().offload().isEmpty();
    }

    TrainedModel model() {
        return model;
    }

    TrainingReport report() {
        return report;
    }

    /**
     * Makes step {@code number}, from 1, and then the comparison of {@code --check-replicas} that is due. Does not wait
     * for a device.
     *
     * @throws io.jrun.train.mesh.ReplicaException if copies of parameters differ
     */
    void step(long number, Supplier<StepBatch> batches) {
        StepMetrics metrics = report.metrics();
        metrics.begin(number);
        seed(number);
        try (StepGraph.OpenStream _ = stream();
                Step scope = model.step()) { // frees the native memory of this step at its end
            lastLoss = 0;
            model.optimizer().setRate(options.schedule(), number - 1);
            Supplier<StepBatch> timed = () -> read(batches);
            if (captured != null) {
                captured.run(model.module(), metrics, timed, ofStep -> clippedGradients(number, scope, ofStep));
            } else {
                gradients(scope, timed);
                model.recordCommunication(metrics);
            }
            if (captured != null || checks.mayUpdate(number, model::parameters)) {
                try (var _ = metrics.phase(StepPhase.OPTIMIZER)) {
                    update(number);
                }
                addToMean();
            }
        }
        metrics.end((long) options.microBatch()
                * recipe.accumulate()
                * options.model().context()
                * dataRanks);
        int every = options.checkpoints().checkReplicas();
        if (every > 0 && number % every == 0) {
            checkReplicas(number);
        }
    }

    /** A job that resumes draws the numbers of the steps that it makes. Each replay of a graph reads the seeds. */
    private void seed(long number) {
        long seed = new SplittableRandom(seeds + number).nextLong();
        torch.manual_seed(seed);
        dropouts.forEach(layer -> layer.beginStep(seed));
    }

    private StepGraph.OpenStream stream() {
        return captured == null ? () -> {} : captured.graph().onStream();
    }

    private void gradients(Step scope, Supplier<StepBatch> batches) {
        if (numbers != null) {
            numbers.begin();
        }
        model.optimizer().clear();
        // The loss of a micro-batch is divided by their number.
        experts.forEach(layer -> layer.setLossScale(checks.scale() / recipe.accumulate()));
        if (model instanceof MeshModel pipeline) {
            lastLoss = run(pipeline, batches);
        } else {
            passes(scope, batches);
        }
    }

    /** The part of a step that a graph can hold: no number of the host changes from step to step. */
    private void clippedGradients(long number, Step scope, Supplier<StepBatch> batches) {
        gradients(scope, batches);
        boolean _ = checks.mayUpdate(number, model::parameters); // the loss scale; the device decides
        clip();
    }

    private void addToMean() {
        if (numbers != null) {
            numbers.end(checks.skip());
        } else {
            meanLoss.add(lastLoss);
        }
    }

    /** The loss of this rank in the last step. Waits for a device. */
    double lastLoss() {
        return numbers == null ? lastLoss : numbers.lastLoss();
    }

    /** Ends step {@code number}, for which this rank has no batch. The gradients are those of the other ranks. */
    void joinStep(long number) {
        model.optimizer().setRate(options.schedule(), number - 1);
        update(number);
    }

    private double run(MeshModel pipeline, Supplier<StepBatch> batches) {
        double loss = pipeline.run(batches);
        if (pipeline.computesLoss()) {
            checks.check(loss);
        }
        return loss;
    }

    /** All passes of a step. The gradients are then the means over all ranks. */
    private void passes(Step scope, Supplier<StepBatch> batches) {
        for (int i = 1; i < recipe.accumulate(); i++) {
            try (NoSync _ = model.noSync()) {
                pass(scope, batches);
            }
        }
        model.optimizer().lastPassBegins();
        pass(scope, batches);
    }

    /** Forward and backward pass of one batch. Adds the batch's part to the loss of the step. */
    private void pass(Step scope, Supplier<StepBatch> batches) {
        StepMetrics metrics = report.metrics();
        StepBatch batch = batches.get();
        Tensor loss;
        try (var _ = metrics.phase(StepPhase.FORWARD)) {
            loss = loss(batch);
        }
        Tensor checked = checks.checked(loss);
        try (var _ = metrics.phase(StepPhase.BACKWARD)) {
            scope.backward(checked);
        }
        if (numbers != null) {
            numbers.add(loss);
        } else {
            lastLoss += loss.item_double();
        }
    }

    private StepBatch read(Supplier<StepBatch> batches) {
        try (var _ = report.metrics().phase(StepPhase.DATA)) {
            StepBatch next = batches.get();
            return new StepBatch(recipe.parameters().converted(next.batch().copied(copies)), next.weight());
        }
    }

    /** The part of a batch in the mean loss of the step. */
    private Tensor loss(StepBatch next) {
        TrainableModel module = model.module();
        Tensor loss;
        try (Autocast _ = recipe.precision().autocast(options.device().device())) {
            loss = module.loss(next.batch().inputs(), next.batch().targets());
        }
        double share = next.weight() / recipe.accumulate();
        return share == 1 ? loss : loss.mul(new Scalar(share));
    }

    private void update(long number) {
        if (captured == null) {
            clip();
        }
        if (recipe.update().clip() == 0 && options.reportsAfter(number)) {
            setNorm(Gradients.norm(model.parameters().values()));
        }
        Tensor skip = checks.skip();
        if (skip == null) {
            model.optimizer().step();
        } else {
            model.optimizer().step(skip);
        }
        model.stepDone();
        if (average != null) {
            average.average().update();
        }
    }

    private void clip() {
        double limit = recipe.update().clip();
        if (limit > 0) {
            setNorm(Gradients.clip(model.parameters().values(), limit));
        }
    }

    private void setNorm(DeferredNumber norm) {
        if (numbers != null) {
            numbers.setNorm(norm);
        } else {
            gradientNorm = norm.value();
        }
    }

    /**
     * Ends a step that a failure has interrupted when this rank had updated its parts. The state that this rank puts
     * into a checkpoint is then the state after the step.
     *
     * @return false if no such step was interrupted
     */
    boolean endInterruptedStep() {
        boolean isInterrupted = model.optimizer().hasPartsOnly();
        if (isInterrupted && average != null) {
            average.average().update(); // The averages of this rank's parts are right. The others are not saved.
        }
        return isInterrupted;
    }

    /**
     * Compares the copies of all parameters. Collective.
     *
     * @throws io.jrun.train.mesh.ReplicaException if copies differ
     */
    void checkReplicas(long number) {
        if (replicas != null && checkedStep != number) {
            replicas.check(number);
            checkedStep = number;
        }
    }

    /**
     * Checks all parameters. Collective over the world. Waits for a device.
     *
     * @throws io.jrun.train.precision.NonFiniteException if a parameter has a value that is not finite
     */
    void requireFinite(long number) {
        FiniteParameters.require(parametersInMemory(), world.group(), number);
    }

    /** Checks the parameters of this rank alone. Returns the name of a parameter with a value that is not finite. */
    Optional<String> nonFiniteParameter() {
        return FiniteParameters.firstBad(parametersInMemory());
    }

    private Map<String, ShardedTensor> parametersInMemory() {
        return options.parallel().offload().isPresent() ? Map.of() : model.parameters();
    }

    /**
     * Reports the mean loss of all ranks since the last report, and returns it. Collective. Waits for a device once: the
     * only wait of a training step.
     */
    double report(long number) {
        double loss;
        if (numbers != null) {
            DeviceNumbers.Report found = numbers.take(checks);
            loss = found.loss();
            gradientNorm = found.norm();
        } else {
            loss = meanLoss.takeOverRanks();
        }
        report.report(number, loss, gradientNorm, options.schedule().at(number - 1));
        return loss;
    }

    /** The steps that were skipped because of values that are not finite. */
    FiniteSteps checks() {
        return checks;
    }

    /** The losses of the evaluations so far. */
    HeldOutLosses heldOutLosses() {
        return heldOutLosses;
    }

    /** Runs an evaluation while the parameters are the averages of {@code --ema}, if there are any. */
    void withAverage(Runnable evaluation) {
        useAverage();
        try {
            evaluation.run();
        } finally {
            useAverage(); // A second exchange restores the parameters, also for the checkpoint of a job that stops.
        }
    }

    /** Ends the training. The parameters of the model are then the averages of {@code --ema}, if there are any. */
    void useAverage() {
        if (average != null && average.average().updates() > 0) {
            average.average().swap();
        }
    }

    /** The state that only this rank has, besides its parts. The caller frees the tensors. */
    Map<String, Tensor> ownState() {
        Map<String, Tensor> own = new HashMap<>(model.ownState());
        if (float8 != null) {
            own.putAll(float8.state());
        }
        return own;
    }

    /** Takes a state of {@link #ownState}, before the first step. */
    void loadOwnState(Map<String, Tensor> own) {
        Map<String, Tensor> ofModel = new HashMap<>(own);
        ofModel.keySet().removeIf(Float8Layers::owns);
        model.loadOwnState(ofModel);
        if (float8 != null) {
            float8.load(own);
        }
    }

    /** Adds the state beside model and optimizer to a checkpoint. */
    void put(StateDict state) {
        checks.put(state);
        heldOutLosses.put(state);
        if (average != null) {
            average.put(state, model.optimizer());
        }
    }

    /** Loads the state beside model and optimizer from a checkpoint. */
    void load(SavedCheckpoint saved) {
        checks.load(saved);
        heldOutLosses.load(saved);
        if (average != null) {
            average.load(saved);
        }
    }

    @Override
    public void close() {
        report.close();
        copies.close();
        if (captured != null) {
            captured.close();
        }
        model.close();
        if (float8 != null) {
            float8.close();
        }
        checks.close();
        if (numbers != null) {
            numbers.close();
        }
        if (average != null) {
            average.close();
        }
    }
}
