package io.jrun.train.pipeline;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.OnRanks;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.pipeline.schedule.ScheduleCheck;
import io.jrun.train.reducer.StageReplicas;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BinaryOperator;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/**
 * Trains a model whose layers are spread over the ranks of a group. A step runs the micro-batches through all stages,
 * in the order of a schedule, and leaves in every {@code .grad} the gradient of the mean loss of the micro-batches, as
 * if one process had added them up in their order. Optimizers and clips work on {@link #parameters()}.
 *
 * <pre>{@code
 * List<PipelineLayer> layers = model.pipelineLayers();
 * var options = PipelineOptions.of(ScheduleKind.ONE_FORWARD_ONE_BACKWARD, mesh.axis("pp").size(), 1, 8);
 * try (var model = new PipelineParallel(layers, lossFunction, mesh.axis("pp"), options)) {
 *     optimizer.zero_grad();
 *     double loss = model.step(inputs, targets);   // lists of 8 micro-batches; the loss is known on all ranks
 *     optimizer.step();
 * }
 * }</pre>
 *
 * <p>Construction is collective. All ranks build the same layers with the same first values. The result has the bits of
 * the serial computation for each schedule. With several replicas this needs a deterministic group. Confined to one
 * thread.
 */
public final class PipelineParallel implements AutoCloseable {
    private final MeshAxis axis;
    private final ProcessGroup pipeline;
    private final PipelineSchedule schedule;
    private final Device device;
    private final List<PipelineLayer> layers;
    private final Map<String, ShardedTensor> parameters;
    private final Map<Integer, Map<String, Tensor>> parametersOfStages = new HashMap<>();
    private final TiedParameters tied;
    private final ModelStages stages;
    private final PipelineExecutor executor;
    private final StageReplicas replicas;
    private boolean reducesGradients;
    private long stepNanos;

    /**
     * Spreads a model.
     *
     * @param layers the whole model, on every rank
     * @param loss the mean loss of a micro-batch from the model's output and its target; used on the last stage
     * @param axis the ranks that share the layers
     * @throws PipelineException if the layers or the options do not fit, or differ between ranks
     * @throws io.jrun.train.pipeline.schedule.ScheduleException if the schedule would not end or is incomplete
     */
    public PipelineParallel(
            List<PipelineLayer> layers, BinaryOperator<Tensor> loss, MeshAxis axis, PipelineOptions options) {
        Libtorch.load();
        this.layers = List.copyOf(layers);
        this.axis = axis;
        this.pipeline = axis.group();
        this.schedule = options.schedule();
        this.device = deviceOf(layers);
        requireRanks();
        ScheduleCheck.requireRunnable(schedule);
        StageCut cut = options.cut().orElseGet(() -> StageCut.byCount(layers.size(), schedule.stages()));
        requireCut(cut);
        PipelineAgreement.require(schedule, layers, cut, pipeline);

        List<PipelineLayer> named = withFirstNames(layers);
        List<List<PipelineLayer>> layersOfStages = IntStream.range(0, schedule.stages())
                .mapToObj(stage -> cut.of(stage, named))
                .toList();
        Map<Integer, List<PipelineLayer>> mine = new HashMap<>();
        schedule.stagesOf(pipeline.groupRank()).forEach(stage -> mine.put(stage, layersOfStages.get(stage)));
        collect(mine);
        this.tied = TiedParameters.of(layersOfStages, schedule, pipeline);
        freeOthers();
        this.replicas = options.replicas();
        this.stages = new ModelStages(
                replicas.takeOver(mine, tied::contains),
                schedule.stages() - 1,
                loss,
                options.autocast(),
                schedule.splitsBackward(),
                tied,
                this::startReduction,
                (pass, isLast) -> replicas.backward(pass, isLast && reducesGradients));
        this.executor = new PipelineExecutor(schedule, pipeline, device);
        this.parameters = parameters(layersOfStages);
    }

    private static Device deviceOf(List<PipelineLayer> layers) {
        return layers.stream()
                .flatMap(layer -> layer.parameters().values().stream())
                .findFirst()
                .map(TensorMemory::device)
                .orElse(Device.CPU);
    }

    private void requireRanks() {
        if (schedule.ranks() != pipeline.size()) {
            throw new PipelineException("the schedule is for " + schedule.ranks()
                    + " pipeline ranks, but the group has " + pipeline.size());
        }
    }

    private void requireCut(StageCut cut) {
        if (cut.stages() != schedule.stages() || cut.layers() != layers.size()) {
            throw new PipelineException("the cut has " + cut.stages() + " stages of " + cut.layers()
                    + " layers, but the schedule has " + schedule.stages() + " stages and the model " + layers.size()
                    + " layers");
        }
    }

    /** Each rank uses the name that a tied parameter has in the first of all layers, as the model of one rank does. */
    private static List<PipelineLayer> withFirstNames(List<PipelineLayer> layers) {
        Map<Long, String> names = new HashMap<>();
        List<PipelineLayer> named = new ArrayList<>();
        for (PipelineLayer layer : layers) {
            Map<String, Tensor> parameters = new LinkedHashMap<>();
            layer.parameters()
                    .forEach((name, tensor) ->
                            parameters.put(names.computeIfAbsent(TensorMemory.identity(tensor), _ -> name), tensor));
            named.add(new PipelineLayer(layer.name(), parameters, layer.forward()));
        }
        return List.copyOf(named);
    }

    /** The parameters of the stages of this rank, tied ones once. */
    private void collect(Map<Integer, List<PipelineLayer>> mine) {
        Set<Long> seen = new HashSet<>();
        for (int stage : schedule.stagesOf(pipeline.groupRank())) {
            Map<String, Tensor> ofStage = new LinkedHashMap<>();
            for (PipelineLayer layer : mine.getOrDefault(stage, List.of())) {
                layer.parameters().forEach((name, tensor) -> {
                    if (seen.add(TensorMemory.identity(tensor))) {
                        ofStage.put(name, tensor);
                    }
                });
            }
            parametersOfStages.put(stage, ofStage);
        }
    }

    /** The parameters of the model in the order of its layers, tied ones once. */
    private Map<String, ShardedTensor> parameters(List<List<PipelineLayer>> layersOfStages) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Map<String, TreeSet<Integer>> holders = new HashMap<>();
        for (int stage = 0; stage < layersOfStages.size(); stage++) {
            int rank = schedule.rankOf(stage);
            for (PipelineLayer layer : layersOfStages.get(stage)) {
                layer.parameters().forEach((name, tensor) -> {
                    tensors.put(name, tensor);
                    holders.computeIfAbsent(name, _ -> new TreeSet<>()).add(rank);
                });
            }
        }
        Map<String, ShardedTensor> all = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> {
            List<Integer> ranks = List.copyOf(Objects.requireNonNull(holders.get(name)));
            ShardedTensor parameter = ShardedTensor.of(name, tensor);
            if (ranks.contains(pipeline.groupRank())) {
                parameter = replicas.kept(parameter);
                tied.keep(tensor, parameter.local());
            }
            all.put(name, parameter.onRanks(new OnRanks(ranks), axis));
        });
        return Collections.unmodifiableMap(all);
    }

    private void freeOthers() {
        Set<Long> kept = new HashSet<>();
        parametersOfStages
                .values()
                .forEach(ofStage -> ofStage.values().forEach(tensor -> kept.add(TensorMemory.identity(tensor))));
        for (PipelineLayer layer : layers) {
            layer.parameters().forEach((name, tensor) -> {
                if (!kept.contains(TensorMemory.identity(tensor))) {
                    StageLayers.free(name, tensor);
                }
            });
        }
    }

    /**
     * The parameters of the whole model by name, in the order of the layers; the same list on all ranks. Each is on the
     * ranks whose stages use it, see {@link OnRanks}. {@link ShardedTensor#gradient} is the reduced gradient after a step.
     */
    public Map<String, ShardedTensor> parameters() {
        return parameters;
    }

    /**
     * Adds the gradients of one step to {@code .grad}: the mean over the micro-batches and over the replicas. Gradients
     * of {@link #accumulate} calls before are part of the sum. The caller needs no {@code PointerScope}: the method
     * frees the native memory of the step.
     *
     * @param inputs the micro-batches, of equal shapes; the first stage uses them
     * @param targets as many; the last stage uses them
     * @return the mean loss of the micro-batches of this replica, on all ranks
     * @throws PipelineException if the number of micro-batches is not that of the schedule, or if their shapes differ
     */
    public double step(List<Tensor> inputs, List<Tensor> targets) {
        reducesGradients = true;
        double loss = run(inputs, targets);
        tied.reduce();
        replicas.start(tied.parameters());
        replicas.await();
        return loss;
    }

    /** As {@link #step} without communication between replicas, for steps of several batches. */
    public double accumulate(List<Tensor> inputs, List<Tensor> targets) {
        reducesGradients = false;
        return run(inputs, targets);
    }

    private double run(List<Tensor> inputs, List<Tensor> targets) {
        if (inputs.size() != schedule.microBatches()) {
            throw new PipelineException("the step has " + inputs.size() + " micro-batches, but the schedule is for "
                    + schedule.microBatches());
        }
        MicroBatches.requireEven(inputs, targets);
        long begin = System.nanoTime();
        stages.begin(inputs, targets, true);
        double loss;
        try {
            executor.run(stages);
            loss = stages.loss();
        } finally {
            stages.free();
        }
        stepNanos = System.nanoTime() - begin;
        return agreed(loss);
    }

    /** The mean loss of micro-batches, without gradients; any number of them. All ranks of the pipeline call it. */
    public double evaluate(List<Tensor> inputs, List<Tensor> targets) {
        MicroBatches.requireEven(inputs, targets);
        stages.begin(inputs, targets, false);
        new PipelineExecutor(schedule.forwardOnly(inputs.size()), pipeline, device).run(stages);
        return agreed(stages.loss());
    }

    /** The loss of the last stage, on all ranks. */
    private double agreed(double loss) {
        double[] value = {loss};
        pipeline.broadcast(MemorySegment.ofArray(value), DataType.F64, 1, schedule.rankOf(schedule.stages() - 1));
        return value[0];
    }

    private void startReduction(int stage) {
        if (reducesGradients) {
            Map<String, Tensor> ofStage = new LinkedHashMap<>(parametersOfStages.getOrDefault(stage, Map.of()));
            ofStage.values().removeIf(tied::contains);
            replicas.start(ofStage.values());
        }
    }

    /** The report of the last step. */
    public PipelineReport report() {
        return new PipelineReport(
                schedule, pipeline.groupRank(), executor.spans(), stepNanos, executor.peakLive(), executor.bytesSent());
    }

    /** Closes the groups of tied parameters and the reducer. The layers of this rank stay usable. */
    @Override
    public void close() {
        stages.free();
        replicas.close();
        tied.close();
    }
}
