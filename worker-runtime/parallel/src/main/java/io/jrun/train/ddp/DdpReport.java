package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import io.jrun.train.reducer.ReductionTimeline;
import io.jrun.train.reducer.StepTimes;
import java.util.List;
import java.util.Map;

/**
 * Counts and times of DDP on this rank: torch's {@code DDPLoggingData}.
 *
 * @param rank the world rank
 * @param module the class of the module
 * @param reductions synchronised backward passes so far
 * @param hook the name of the communication hook
 * @param parameterTensors trained parameters
 * @param parameterBytes bytes of the trained parameters for each element type
 * @param isRebuilt whether the buckets follow the order in which gradients became ready
 * @param buckets parameter names per bucket, in the order of reduction
 * @param unusedParameters names of the parameters that this rank left out of its last reduction
 * @param canSetStaticGraph whether all reductions so far used the same parameters on this rank
 * @param last times of the last step with a reduction, with one span for each bucket
 * @param mean mean times of all steps with a reduction
 */
public record DdpReport(
        int rank,
        int groupSize,
        String module,
        long reductions,
        DdpOptions options,
        String hook,
        int parameterTensors,
        Map<DataType, Long> parameterBytes,
        boolean isRebuilt,
        List<List<String>> buckets,
        List<String> unusedParameters,
        boolean canSetStaticGraph,
        ReductionTimeline last,
        StepTimes mean) {
    public DdpReport {
        parameterBytes = Map.copyOf(parameterBytes);
        buckets = List.copyOf(buckets);
        unusedParameters = List.copyOf(unusedParameters);
    }

    /**
     * For each bucket of the last reduction, the part of its communication that ran during the backward pass, 0 to 1.
     */
    public List<Double> overlapPerBucket() {
        return last.buckets().stream()
                .map(span -> {
                    long whole = span.finishedNanos() - span.launchedNanos();
                    return whole <= 0 ? 1.0 : (double) span.overlapNanos(last.lastGradientNanos()) / whole;
                })
                .toList();
    }
}
