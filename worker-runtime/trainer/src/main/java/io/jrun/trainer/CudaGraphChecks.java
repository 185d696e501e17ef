package io.jrun.trainer;

/** Refuses options that cannot be recorded into a CUDA graph. The refusal has one line with the reason. */
final class CudaGraphChecks {
    private CudaGraphChecks() {}

    /**
     * Checks options with {@code --cuda-graph}.
     *
     * @param ranks of the job
     */
    static void check(TrainingArguments options, int ranks) {
        if (!options.device().usesGraph()) {
            return;
        }
        TrainingRecipe recipe = options.recipe();
        ExchangeOptions exchange = recipe.exchange();
        refuse(
                ranks > 1,
                "a job of one rank",
                "the collectives of " + ranks
                        + " ranks wait on the host, or run on streams that a graph does not record");
        refuse(
                options.model().factory().hasExperts(),
                "a model without experts",
                "the host reads how many tokens go to each expert");
        refuse(
                options.parallel().zeroStage() > 0,
                "whole models, without --zero, --shard and --offload",
                "the host orders the exchange of shared states with their use");
        refuse(
                recipe.recompute().interval() > 0,
                "no --recompute",
                "the host sets random generators back before it computes a block again");
        refuse(
                recipe.onNonFinite().isPresent(),
                "no --on-nonfinite",
                "the host gives each check the number of its step");
        refuse(
                recipe.update().isInHook(),
                "no --update-in-hook",
                "the passes would keep the learning rate of the recorded step");
        refuse(
                exchange.hook() != ExchangeOptions.HookKind.NONE || exchange.localSgdRanks() > 0,
                "no --comm-hook and no --local-sgd",
                "the host chooses the exchange of each pass");
        refuse(
                exchange.ddp().reduction().findUnusedParameters(),
                "no --find-unused-parameters",
                "each pass may use other parameters");
        refuse(exchange.reports(), "no --ddp-report", "the host does not see the passes that a graph repeats");
    }

    /** Refuses data whose samples count with different weights. */
    static void checkData(TrainingArguments options, boolean hasUnequalSamples) {
        refuse(
                options.device().usesGraph() && hasUnequalSamples,
                "samples with equal numbers of targets",
                "the host gives each batch its weight in the loss");
    }

    private static void refuse(boolean isGiven, String needed, String reason) {
        ParallelChecks.refuse(isGiven, "--cuda-graph needs " + needed + ": " + reason);
    }
}
