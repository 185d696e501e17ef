package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The first failure of a rank's backward passes. A failure aborts the group, because the other ranks would wait for the
 * missing buckets. Confined as {@link GradientReducer}.
 */
final class PassFailure {
    private final List<Parameter> parameters;
    private final ProcessGroup group;
    private final ReducerOptions options;
    private @Nullable RuntimeException failure;

    PassFailure(List<Parameter> parameters, ProcessGroup group, ReducerOptions options) {
        this.parameters = parameters;
        this.group = group;
        this.options = options;
    }

    boolean isPresent() {
        return failure != null;
    }

    /** Throws the failure if there is one. */
    void check() {
        if (failure != null) {
            throw failure;
        }
    }

    /** Keeps the first failure and aborts the group. Returns the first failure. */
    RuntimeException of(RuntimeException e) {
        if (failure == null) {
            failure = e;
            group.abort(who() + ": the backward pass failed: " + e);
        }
        return failure;
    }

    /** Returns the exception of a pass that did not compute all gradients, and aborts the group. */
    RuntimeException unfinished(ReadyBuckets ready) {
        List<String> missing = IntStream.range(0, parameters.size())
                .filter(parameter -> !ready.contains(parameter))
                .mapToObj(parameter -> parameters.get(parameter).name())
                .toList();
        ReductionException error = UnfinishedReduction.error(who(), missing, parameters.size(), options);
        failure = error;
        group.abort(String.valueOf(error.getMessage()));
        return error;
    }

    private String who() {
        return "rank " + group.worldRank(group.groupRank());
    }
}
