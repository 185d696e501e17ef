package io.jrun.trainer;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.expert.ExpertDataParallel;
import io.jrun.train.expert.ExpertOptions;
import io.jrun.train.expert.ExpertParallel;
import io.jrun.train.expert.MixtureOfExperts;
import io.jrun.train.expert.RoutingReport;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.reducer.BucketSpan;
import io.jrun.train.reducer.ReductionTimeline;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.time.Duration;
import java.util.Collection;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Each rank has the whole model, but only its part of the experts. All ranks train on different samples. */
final class ExpertModel implements TrainedModel {
    private final DeviceMesh mesh;
    private final ProcessGroup data;
    private final MeshAxis axis;
    private final ExpertDataParallel<TrainableModel> model;
    private final TrainingOptimizer optimizer;
    private final ShardedState state;

    ExpertModel(TrainingArguments options, DeviceMesh whole, Consumer<TrainableModel> built) {
        data = ParallelOptions.dataGroup(whole);
        int ranks = options.expertRanks();
        if (data.size() % ranks != 0) {
            throw new InvalidArgumentException(
                    "--ep=" + ranks + " does not divide the " + data.size() + " ranks of --dp");
        }
        mesh = DeviceMesh.of(whole.world(), "dp", data.size() / ranks, "ep", ranks);
        axis = mesh.axis("ep");
        ExpertParallel experts = new ExpertParallel(axis);
        TrainableModel module = TrainedModel.build(options, whole.world(), experts::apply);
        built.accept(module);
        layers(module)
                .forEach(layer -> layer.setLossScale(1.0 / options.recipe().accumulate()));
        model = new ExpertDataParallel<>(module, experts, mesh.axis("dp"));
        optimizer = TrainingOptimizer.of(options.recipe().update(), Parameters.of(module), model.gradientMemory());
        state = new ShardedState(Parameters.withBuffers(module));
    }

    private static Collection<MixtureOfExperts> layers(TrainableModel module) {
        return module.descendants(MixtureOfExperts.class).values();
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
        return axis.size() == 1 ? Holding.ALL : Holding.PARTS;
    }

    @Override
    public long parameterCount() {
        return parameters().values().stream().mapToLong(ShardedTensor::elements).sum();
    }

    @Override
    public long activeParameterCount() {
        ExpertOptions options = layers(module()).iterator().next().options();
        return parameters().values().stream()
                .mapToLong(parameter -> parameter.placements().isEmpty()
                        ? parameter.elements()
                        : parameter.elements() * options.topK() / options.experts())
                .sum();
    }

    @Override
    public Step step() {
        return model.step();
    }

    @Override
    public NoSync noSync() {
        return model.noSync();
    }

    @Override
    public void recordCommunication(StepMetrics metrics) {
        ReductionTimeline timeline = model.ofSharedParameters().lastReduction();
        metrics.recordWaitOfBackward(
                timeline.lastGradientNanos(),
                timeline.finishedNanos(),
                Stream.of(timeline, model.ofExperts().lastReduction())
                        .flatMap(reduction -> reduction.buckets().stream())
                        .mapToLong(BucketSpan::bytes)
                        .sum());
    }

    @Override
    public Duration exposedCommunication() {
        return model.ofSharedParameters()
                .exposedCommunication()
                .plus(model.ofExperts().exposedCommunication());
    }

    @Override
    public Optional<String> summary() {
        RoutingReport report = layers(module()).stream()
                .map(MixtureOfExperts::report)
                .reduce(RoutingReport::plus)
                .orElseThrow()
                .overRanks(data);
        if (report.choices() == 0) {
            return Optional.empty(); // The run had no step to train.
        }
        return Optional.of(String.format(
                Locale.ROOT,
                "experts: %.1f %% of the choices were dropped; the fullest expert had %.2f times an equal share",
                100 * report.droppedShare(),
                report.imbalance()));
    }

    @Override
    public void close() {
        optimizer.close();
        model.close();
        mesh.close();
    }
}
