package io.jrun.trainer;

import io.jrun.trainer.ExchangeOptions.HookKind;
import io.jrun.trainer.TrainingRecipe.ParameterType;
import io.jrun.trainer.TrainingRecipe.Precision;
import java.util.ArrayList;
import java.util.List;

/** Refuses options of a recipe that do not work together. Each refusal has one line. */
final class RecipeChecks {
    private RecipeChecks() {}

    /** All combinations. */
    static void check(
            TrainingRecipe recipe, ParallelOptions parallel, boolean hasExperts, CheckpointOptions checkpoints) {
        List<String> alone = optionsOfWholeModels(recipe, parallel.offload().isPresent());
        boolean isShared = parallel.sharesLayers() || parallel.zeroStage() > 0 || hasExperts;
        ParallelChecks.refuse(
                !alone.isEmpty() && isShared,
                String.join(", ", alone) + ": only for ranks with whole models, without --shard, --zero, --tp, --cp,"
                        + " --pp and --experts");
        ParallelChecks.refuse(
                parallel.offload().isPresent()
                        && (recipe.precision() == Precision.F16
                                || recipe.update().averageDecay() > 0),
                "--precision=f16 and --ema need gradients and parameters in memory: give no --offload");
        ParallelChecks.refuse(
                parallel.offload().isPresent() && recipe.precision() == Precision.FP8,
                "--precision=fp8 keeps its scales in checkpoints, which --offload does not write: give no --offload");
        ParallelChecks.refuse(
                hasExperts && (parallel.context() > 1 || parallel.isSequenceParallel()),
                "--experts does not work with --cp and --sequence-parallel: the capacity of an expert and the losses of"
                        + " the router are those of whole sequences. Use --tp, --pp or --shard.");
        ParallelChecks.refuse(
                recipe.precision() == Precision.FP8 && (parallel.tensor() > 1 || hasExperts),
                "--precision=fp8 works without --tp and --experts: use --precision=bf16");
        checkPrecision(recipe);
        ExchangeOptions exchange = recipe.exchange();
        ParallelChecks.refuse(
                exchange.localSgdRanks() > 0 && exchange.hook() != HookKind.NONE,
                "--local-sgd is an exchange of gradients by itself: give no --comm-hook");
        ParallelChecks.refuse(
                exchange.localSgdRanks() > 0 && checkpoints.location().isPresent(),
                "--local-sgd has different parameters on different ranks: give no --checkpoint");
        ParallelChecks.refuse(
                exchange.unevenEnd().isPresent()
                        && (recipe.scalesLoss()
                                || recipe.onNonFinite().isPresent()
                                || recipe.update().isInHook()
                                || recipe.accumulate() > 1
                                || exchange.localSgdRanks() > 0
                                || checkpoints.location().isPresent()),
                "--uneven has steps without a batch of some ranks: give no f16, --on-nonfinite, --update-in-hook,"
                        + " --accumulate, --local-sgd and --checkpoint");
        ParallelChecks.refuse(
                recipe.update().isInHook()
                        && (recipe.scalesLoss() || recipe.onNonFinite().isPresent()),
                "--update-in-hook cannot skip a step: give no f16 and no --on-nonfinite");
    }

    private static List<String> optionsOfWholeModels(TrainingRecipe recipe, boolean hasFiles) {
        List<String> alone = new ArrayList<>();
        if (recipe.parameters().isNarrow()) {
            alone.add("--parameters=" + recipe.parameters().word());
        }
        if (recipe.update().isInHook() && !hasFiles) {
            alone.add("--update-in-hook");
        }
        if (recipe.exchange().localSgdRanks() > 0) {
            alone.add("--local-sgd");
        }
        if (!recipe.recompute().kept().isEmpty()) {
            alone.add("--recompute-keep");
        }
        if (recipe.exchange().needsDdp()) {
            alone.add("--static-graph, --find-unused-parameters, --bucket-cap-mb, --uneven and --ddp-report");
        }
        return alone;
    }

    private static void checkPrecision(TrainingRecipe recipe) {
        boolean isNarrow = recipe.parameters().isNarrow();
        String parameters = "--parameters=" + recipe.parameters().word();
        ParallelChecks.refuse(
                recipe.scalesLoss() && recipe.onNonFinite().isPresent(),
                "float16 skips steps with values that are not finite: give no --on-nonfinite");
        ParallelChecks.refuse(
                recipe.precision() == Precision.FP8
                        && !recipe.recompute().kept().isEmpty(),
                "--precision=fp8 replaces the products of linear layers: give no --recompute-keep");
        ParallelChecks.refuse(
                recipe.parameters() != ParameterType.F32 && recipe.precision() != Precision.F32,
                "--parameters decides the type of the whole computation: give no --precision");
        ParallelChecks.refuse(
                isNarrow && !recipe.update().optimizer().isFlat(),
                parameters + " needs --optimizer=fused or fused-sgd, which have float32 master copies");
        ParallelChecks.refuse(
                isNarrow && recipe.update().averageDecay() > 0,
                "--ema averages parameters of float32 or float64: give no " + parameters);
        ParallelChecks.refuse(
                isNarrow && recipe.exchange().localSgdRanks() > 0,
                "--local-sgd averages parameters of float32 or float64: give no " + parameters);
        ParallelChecks.refuse(
                recipe.parameters() != ParameterType.F32
                        && recipe.exchange().hook().isShortening(),
                "--comm-hook=fp16 and bf16 shorten gradients of float32: give no " + parameters);
    }
}
