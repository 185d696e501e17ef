package io.jrun.trainer;

import io.jrun.train.context.ContextParallel;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.OptionalLong;
import java.util.Set;

/** Refuses options that do not work together. Each refusal is an {@link InvalidArgumentException} with one line. */
final class ParallelChecks {
    private ParallelChecks() {}

    /** Checks options against each other. */
    static void check(ParallelOptions options, CommandLineArguments given) {
        int stage = options.zeroStage();
        boolean sharesInPart = stage == 1 || stage == 2;
        needs(given, "--virtual-stages", options.pipeline() > 1, "--pp=N: without a pipeline there are no stages");
        needs(given, "--schedule", options.pipeline() > 1, "--pp=N: a schedule is the order of the stages");
        needs(given, "--cp-exchange", options.context() > 1, "--cp=N: the ranks of --cp exchange keys");
        refuse(
                options.isSequenceParallel() && options.tensor() == 1,
                "--sequence-parallel needs --tp: the ranks of --tp share the sequence");
        refuse(stage > ParallelOptions.STAGES, "--zero is '" + stage + "', expected a stage from 0 to 3");
        refuse(
                options.sharesLayers() && options.offload().isPresent(),
                "--offload works without --tp, --pp and --cp: use --shard=N to share the states in memory");
        refuse(
                stage == 0 && options.shards() > 1,
                "--zero=0 shares no states: give --dp=" + options.shards() + " instead of --shard=" + options.shards());
        refuse(
                sharesInPart && options.copies() > 1,
                "--zero=" + stage + " shares the states among all data ranks: give --shard="
                        + options.copies() * options.shards() + " and no --dp");
        refuse(
                options.reshardAfterForward() != FsdpOptions.RESHARD
                        && given.text("--reshard-after-forward").isPresent()
                        && !options.sharesParameters(),
                "--reshard-after-forward needs --shard=N with --zero=3");
        refuse(
                options.offload().isPresent() && (!options.sharesParameters() || options.copies() > 1),
                "--offload needs --shard=N for all ranks, with --zero=3");
        int sharing = options.shards() * options.context();
        refuse(
                options.reshardAfterForward() > 1 && sharing % options.reshardAfterForward() != 0,
                "--reshard-after-forward=" + options.reshardAfterForward() + " does not divide "
                        + (options.context() > 1 ? "--shard x --cp = " : "--shard=") + sharing);
    }

    /** Checks the options against the options of the recipe. */
    static void check(ParallelOptions options, TrainingRecipe recipe, CheckpointOptions checkpoints) {
        int stage = options.zeroStage();
        UpdateOptions.OptimizerKind optimizer = recipe.update().optimizer();
        boolean hasHook = recipe.exchange().hook() != ExchangeOptions.HookKind.NONE;
        refuse(
                options.offload().isPresent() && optimizer != UpdateOptions.OptimizerKind.FUSED,
                "--offload needs --optimizer=fused: the states of libtorch's optimizers are in memory");
        refuse(
                options.offload().isPresent() && checkpoints.location().isPresent(),
                "--offload keeps the last whole step in its folder: give no --checkpoint");
        refuse(
                options.offload().isPresent() && checkpoints.out().isPresent(),
                "--offload keeps the parameters in its folder: give no --out");
        refuse(
                (stage == 1 || stage == 2) && !optimizer.isFlat(),
                "--zero=" + stage
                        + " needs --optimizer=fused or fused-sgd: the states of libtorch's optimizers cannot be shared");
        refuse(
                stage > 0 && hasHook,
                "--comm-hook works without --shard only: ranks that share states reduce gradients by themselves");
        refuse(
                options.sharesLayers() && hasHook,
                "--comm-hook works without --tp, --pp and --cp: a hook is for the gradients of whole models");
    }

    /** Checks the options against the number of copies that the ranks make. */
    static void checkCopies(ParallelOptions options, int copies) {
        int stage = options.zeroStage();
        refuse(
                (stage == 1 || stage == 2) && copies > 1,
                "--zero=" + stage + " shares the states among all data ranks: give --shard="
                        + copies * options.shards());
        refuse(
                options.sharesParameters() && options.shards() * options.context() == 1 && copies > 1,
                "--zero=3 shares the parameters among the ranks of --shard: give --shard=" + copies
                        + ", or a part of it for several copies of the model");
        refuse(
                options.offload().isPresent() && copies > 1,
                "--offload shares the states among all data ranks: give --shard=" + copies * options.shards());
    }

    /** Checks the ranks that share the experts, of which each has its own samples. */
    static void checkExperts(ParallelOptions options, int copies) {
        boolean isPartOfStates = options.sharesStatesInPart();
        int ranks = isPartOfStates ? options.shards() : copies;
        refuse(
                ranks % options.experts() != 0,
                "--ep=" + options.experts() + " does not divide the " + ranks + " ranks of "
                        + (isPartOfStates ? "--shard" : "--dp")
                        + (options.shards() > 1 && !isPartOfStates
                                ? ": the ranks that share the experts are copies of the model, besides --shard"
                                : ""));
    }

    /** What the model must say of itself before ranks share its sequences. */
    static void checkSequences(TrainingArguments options) {
        ParallelOptions parallel = options.parallel();
        boolean isShared = parallel.context() > 1 || parallel.isSequenceParallel();
        refuse(
                isShared && !options.definition().sharesSequences(),
                "--cp and --sequence-parallel: the model does not say that ranks can share its sequences. The positions of"
                        + " a text must meet in AttentionLayer alone; then let sharesSequences() return true.");
    }

    /** Buffers are not part of the state of ranks that share parameters or layers. */
    static void checkBuffers(TrainableModel module) {
        Set<String> buffers = ModuleTensors.buffers(module).keySet();
        refuse(
                !buffers.isEmpty(),
                "the model has buffers, such as '"
                        + buffers.stream().findFirst().orElse("")
                        + "': train it without --shard with --zero=3, --tp, --pp and --cp, which keep no buffers");
    }

    /** The heads of a rank, which the attention would refuse later, in a forward pass. */
    static void checkHeads(TrainingArguments options) {
        ParallelOptions parallel = options.parallel();
        OptionalLong ofModel = options.definition().keyHeads();
        if (ofModel.isEmpty()) {
            return; // The attention refuses the heads in the first forward pass.
        }
        long keyHeads = ofModel.getAsLong() / parallel.tensor();
        refuse(
                parallel.contextExchange() == ContextParallel.Exchange.ULYSSES && keyHeads % parallel.context() != 0,
                "--cp-exchange=ulysses: the " + keyHeads + " key heads of a rank cannot be shared by --cp="
                        + parallel.context()
                        + " in equal parts. Choose another number of ranks, or --cp-exchange=ring.");
    }

    /** The tokens of a rank, which the layers would refuse later, in a forward pass. */
    static void checkLength(TrainingArguments options, long localTokens) {
        ParallelOptions parallel = options.parallel();
        refuse(
                parallel.isSequenceParallel() && localTokens % parallel.tensor() != 0,
                "--sequence-parallel: the " + localTokens + " tokens of a rank cannot be shared by --tp="
                        + parallel.tensor() + " in equal parts. Choose another --context.");
    }

    private static void needs(CommandLineArguments given, String option, boolean hasReason, String needed) {
        given.text(option).ifPresent(value -> refuse(!hasReason, option + "=" + value + " needs " + needed));
    }

    static void refuse(boolean isUnsupported, String message) {
        if (isUnsupported) {
            throw new InvalidArgumentException(message);
        }
    }
}
