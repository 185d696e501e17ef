package io.jrun.train.pipeline;

import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.pipeline.schedule.ScheduleCheck;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.precision.Autocast;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.StageReducer;
import io.jrun.train.reducer.StageReplicas;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The options of a pipeline; the same on all ranks.
 *
 * @param schedule the order of actions, which has the number of micro-batches of a step
 * @param cut the layers of each stage; empty for equal numbers of layers
 * @param replicas the ranks that hold the same stages and train on other samples
 * @param autocast opens a scope of reduced precision around each forward pass
 */
public record PipelineOptions(
        PipelineSchedule schedule,
        Optional<StageCut> cut,
        StageReplicas replicas,
        Optional<Supplier<Autocast>> autocast) {

    /**
     * The options for a schedule of jrun's.
     *
     * @param ranks of the pipeline
     * @param stagesPerRank parts of the model that each rank holds
     */
    public static PipelineOptions of(ScheduleKind kind, int ranks, int stagesPerRank, int microBatches) {
        PipelineSchedule schedule = kind.schedule(ranks, stagesPerRank, microBatches);
        ScheduleCheck.requirePeakLive(kind, schedule);
        return of(schedule);
    }

    /** The options for any schedule. */
    public static PipelineOptions of(PipelineSchedule schedule) {
        return new PipelineOptions(schedule, Optional.empty(), StageReplicas.NONE, Optional.empty());
    }

    /** These options with other layers for each stage. */
    public PipelineOptions withCut(StageCut newCut) {
        return new PipelineOptions(schedule, Optional.of(newCut), replicas, autocast);
    }

    /** These options with data parallelism: each rank of the axis has whole stages. */
    public PipelineOptions withReplicas(MeshAxis axis) {
        return axis.size() == 1 ? this : withReplicas(new StageReducer(axis, GradientPlacement.REPLICATED));
    }

    /** These options with another kind of data parallelism. */
    public PipelineOptions withReplicas(StageReplicas newReplicas) {
        return new PipelineOptions(schedule, cut, newReplicas, autocast);
    }

    /** These options with forward passes in reduced precision. */
    public PipelineOptions withAutocast(Supplier<Autocast> newAutocast) {
        return new PipelineOptions(schedule, cut, replicas, Optional.of(newAutocast));
    }
}
