package io.jrun.train.reducer;

import java.util.List;
import java.util.stream.Collectors;

/** The error of a backward pass that did not compute all gradients, or that added to a reduced gradient. */
final class UnfinishedReduction {
    private static final int NAMES_SHOWN = 8;

    private UnfinishedReduction() {}

    /** {@code missing} are the names of the parameters without a gradient. */
    static ReductionException error(String who, List<String> missing, int parameterCount, ReducerOptions options) {
        if (missing.isEmpty()) {
            return new ReductionException(
                    who + ": a backward pass added to a gradient that was already reduced. " + advice(options));
        }
        String shown = missing.stream().limit(NAMES_SHOWN).collect(Collectors.joining(", "));
        String more = missing.size() > NAMES_SHOWN ? " and " + (missing.size() - NAMES_SHOWN) + " more" : "";
        return new ReductionException(who + ": " + missing.size() + " of " + parameterCount
                + " parameters got no gradient in a synchronised backward pass: " + shown + more + ". "
                + advice(options));
    }

    private static String advice(ReducerOptions options) {
        if (options.staticGraph()) {
            return "staticGraph promises that every pass uses the same parameters equally often: run the first pass by"
                    + " step.backward(loss), or build DistributedDataParallel without staticGraph.";
        }
        if (options.findUnusedParameters()) {
            return "Run step.backward(loss) instead of loss.backward(): findUnusedParameters needs the graph.";
        }
        return "Use all parameters in the loss, freeze the unused parameters (requires_grad false), or build"
                + " DistributedDataParallel with findUnusedParameters and run step.backward(loss). Two backward"
                + " passes over one parameter in one reduction need noSync() around all passes except the last, or"
                + " staticGraph.";
    }
}
