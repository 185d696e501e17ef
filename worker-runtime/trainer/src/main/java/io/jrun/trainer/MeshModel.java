package io.jrun.trainer;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.train.checkpoint.ModelState;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.data.Batch;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.pipeline.PipelineException;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.pipeline.StageCut;
import io.jrun.train.pipeline.StageLayers;
import io.jrun.train.pipeline.schedule.ScheduleException;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.tensorparallel.TensorParallel;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * The ranks along the axis pp share the layers as stages of a pipeline, the ranks along tp share each layer, and the
 * ranks along cp share each sequence. A model without --pp is a pipeline of one stage. The ranks along dp have copies.
 * The ranks along shard and cp may share the states of a copy, see {@link MeshStates}.
 */
final class MeshModel implements TrainedModel {
    private final FiniteSteps checks;
    private final TrainableModel module;
    private final MeshAxis contextAxis;
    private final ContextParallel context;
    private final MeshAxis stages;
    private final boolean isRankZero;
    private final int lossRank;
    private final PipelineParallel pipeline;
    private final TrainingOptimizer optimizer;
    private final ShardedState state;
    private final int microBatches;
    private final Holding holding;
    private final MeshStates states;
    private final PipelineTimes times = new PipelineTimes();
    private final IdentityHashMap<Tensor, Double> weights = new IdentityHashMap<>();

    MeshModel(TrainingArguments options, DeviceMesh mesh, FiniteSteps checks) {
        this.checks = checks;
        ParallelOptions parallel = options.parallel();
        microBatches = options.recipe().accumulate();
        holding = holding(options);
        MeshAxis tensorAxis = mesh.axis(ParallelOptions.TENSOR_AXIS);
        contextAxis = mesh.axis(ParallelOptions.CONTEXT_AXIS);
        isRankZero = mesh.world().rank() == 0;
        stages = mesh.axis(ParallelOptions.PIPELINE_AXIS);
        ParallelChecks.checkSequences(options);
        ParallelChecks.checkHeads(options);
        FullyShardedDataParallel sharded = parallel.sharesParameters() ? parallel.fullySharded(mesh) : null;
        TensorParallel tensor = parallel.tensor() == 1
                ? null
                : new TensorParallel(tensorAxis, parallel.isSequenceParallel(), tensorParallelPlan(options));
        try {
            PipelineOptions how = pipelineOptions(options);
            lossRank = how.schedule().rankOf(how.schedule().stages() - 1);
            // Each block is built, gets its values and is shared before the next block is built.
            StageLayers ofStage = new StageLayers(how.cut().orElseThrow(), how.schedule(), stages, 1);
            module = TrainedModel.build(options, mesh, block -> {
                if (tensor != null) {
                    tensor.apply(block);
                }
                if (ofStage.keeps(block) && sharded != null) {
                    FullyShard.apply(block, sharded);
                }
            });
            ParallelChecks.checkBuffers(module);
            context = ContextParallel.apply(module, contextAxis, contextAxis, parallel.contextExchange());
            ParallelChecks.checkLength(
                    options, context.split().localLength(options.model().context()));
            if (tensor != null) {
                tensor.apply(module);
            }
            states = MeshStates.of(parallel, mesh, sharded);
            pipeline = new PipelineParallel(module.pipelineLayers(), this::weightedLoss, stages, states.addTo(how));
            state = new ShardedState(pipeline.parameters());
        } catch (IllegalArgumentException | PipelineException e) {
            throw new InvalidArgumentException(String.valueOf(e.getMessage()));
        }
        optimizer = states.optimizer(options.recipe().update(), pipeline);
    }

    private static Map<String, ParallelStyle> tensorParallelPlan(TrainingArguments options) {
        Map<String, ParallelStyle> plan = options.definition().tensorParallelPlan();
        ParallelChecks.refuse(
                plan.isEmpty(),
                "--tp=" + options.parallel().tensor() + ": the model has no plan by which ranks share its layers."
                        + " Give the model a tensorParallelPlan, or use --shard=N.");
        return plan;
    }

    private PipelineOptions pipelineOptions(TrainingArguments options) {
        ParallelOptions parallel = options.parallel();
        PipelineOptions order = order(parallel);
        PipelineOptions cut = order.withCut(StageCut.byCount(
                options.definition().blockCount() + 2, order.schedule().stages()));
        TrainingRecipe.Precision precision = options.recipe().precision();
        return precision == TrainingRecipe.Precision.F32
                ? cut
                : cut.withAutocast(() -> precision.autocast(options.device().device()));
    }

    private PipelineOptions order(ParallelOptions parallel) {
        try {
            return PipelineOptions.of(parallel.schedule(), parallel.pipeline(), parallel.virtualStages(), microBatches);
        } catch (ScheduleException e) {
            throw new InvalidArgumentException(e.getMessage() + " (--accumulate is " + microBatches
                    + ", --virtual-stages is " + parallel.virtualStages() + ")");
        }
    }

    /** Runs the micro-batches of a step. Each gradient is then the mean over all of them and over the copies. */
    double run(Supplier<StepBatch> batches) {
        double scale = checks.scale();
        List<Tensor> inputs = new ArrayList<>();
        List<Tensor> targets = new ArrayList<>();
        for (int i = 0; i < microBatches; i++) {
            StepBatch next = batches.get();
            inputs.add(ofRank(next.batch().inputs()));
            Tensor ofBatch = ofRank(next.batch().targets());
            targets.add(ofBatch);
            weights.put(ofBatch, next.weight() * scale);
        }
        try {
            return times.measure(() -> pipeline.step(inputs, targets)) / scale;
        } finally {
            weights.clear();
        }
    }

    /** This rank's tokens of whole sequences. */
    private Tensor ofRank(Tensor whole) {
        return contextAxis.size() == 1 ? whole : context.tokens(whole);
    }

    /** The loss of a micro-batch with its weight and the scale of the step. An evaluation has neither. */
    private Tensor weightedLoss(Tensor outputs, Tensor targets) {
        Tensor loss = module.outputLoss(outputs, targets);
        double weight = weights.getOrDefault(targets, 1.0);
        return weight == 1 ? loss : loss.mul(new Scalar(weight));
    }

    @Override
    public double evaluate(Batch batch) {
        double[] loss = {pipeline.evaluate(List.of(ofRank(batch.inputs())), List.of(ofRank(batch.targets())))};
        contextAxis.group().allReduce(MemorySegment.ofArray(loss), DataType.F64, 1, ReduceOp.SUM);
        return loss[0] / contextAxis.size();
    }

    /** Whether this rank holds the last stage. */
    boolean computesLoss() {
        return lossRank == stages.coordinate();
    }

    @Override
    public Map<String, ShardedTensor> parameters() {
        return pipeline.parameters();
    }

    /** Rank 0 generates with a copy of the whole model. */
    @Override
    public Optional<TrainableModel> generator(TrainingArguments options) {
        Map<String, Tensor> whole = wholeParameters(isRankZero);
        if (whole.isEmpty()) {
            return Optional.empty();
        }
        TrainableModel alone = options.definition().build(_ -> {});
        options.recipe().parameters().convert(alone);
        ModelState.load(alone, whole);
        whole.values().forEach(Tensor::close);
        alone.eval();
        return Optional.of(alone);
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
        return holding;
    }

    private static Holding holding(TrainingArguments options) {
        ParallelOptions parallel = options.parallel();
        if (options.recipe().precision() == TrainingRecipe.Precision.FP8) {
            return Holding.PARTS; // the scales of each rank
        }
        boolean hasParts = parallel.tensor() * parallel.pipeline() * parallel.experts() > 1 || parallel.zeroStage() > 0;
        return hasParts ? Holding.PARTS : Holding.ALL;
    }

    @Override
    public Step step() {
        return new Step(MeshModel::noBackward, states.openStep());
    }

    private static void noBackward(Tensor loss) {
        throw new IllegalStateException("a pipeline runs its own backward passes");
    }

    @Override
    public NoSync noSync() {
        return new NoSync(() -> {});
    }

    /** Adds also the computations of this rank's stages. */
    @Override
    public void recordCommunication(StepMetrics metrics) {
        times.record(pipeline.report(), metrics);
    }

    @Override
    public Duration exposedCommunication() {
        return times.waited();
    }

    @Override
    public void close() {
        optimizer.close();
        pipeline.close();
    }
}
