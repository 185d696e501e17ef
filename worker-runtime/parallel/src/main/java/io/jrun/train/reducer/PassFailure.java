package io.jrun.train.reducer;

import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The first failure of a rank's backward passes. A failure aborts the groups, because the other ranks would wait for the
 * missing buckets. Confined as {@link GradientReducer}.
 */
final class PassFailure {
    private final List<Parameter> parameters;
    private final ReductionGroups groups;
    private final ReducerOptions options;
    private @Nullable RuntimeException failure;

    PassFailure(List<Parameter> parameters, ReductionGroups groups, ReducerOptions options) {
        this.parameters = parameters;
        this.groups = groups;
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

    /** Keeps the first failure and aborts the groups. Returns the first failure. */
    RuntimeException of(RuntimeException e) {
        if (failure == null) {
            failure = e;
            groups.abort(who() + ": the backward pass failed: " + e);
        }
        return failure;
    }

    /** Returns the exception of a pass that did not compute all gradients, and aborts the groups. */
    RuntimeException unfinished(ReadyBuckets ready) {
        List<String> missing = IntStream.range(0, parameters.size())
                .filter(parameter -> !ready.contains(parameter))
                .mapToObj(parameter -> parameters.get(parameter).name())
                .toList();
        ReductionException error = UnfinishedReduction.error(who(), missing, parameters.size(), options);
        failure = error;
        groups.abort(String.valueOf(error.getMessage()));
        return error;
    }

    private String who() {
        return "rank " + groups.all().worldRank(groups.all().groupRank());
    }
}
