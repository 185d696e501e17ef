package io.jrun.examples.gpt;

import io.jrun.comm.DataType;
import io.jrun.examples.options.CommandLineArguments;
import io.jrun.train.ddp.CommunicationHook;
import io.jrun.train.ddp.hook.CompressionHook;
import io.jrun.train.ddp.hook.PowerSgdHook;
import io.jrun.train.ddp.hook.PowerSgdOptions;
import io.jrun.train.optim.OneCycle;
import io.jrun.train.precision.NonFinitePolicy;
import io.jrun.train.recompute.RecomputePolicy;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The options of the training.
 *
 * @param clip largest global norm of the gradients; 0 for no limit
 * @param accumulate micro-batches whose gradients make one step; 0 if {@code --global-batch} decides
 * @param recomputeInterval one block in this many is recomputed; 0 for none
 * @param tensorBoard folder of event files
 * @param peakFlops floating point operations a second of one rank's device; 0 if the number is not known, then the
 *     program reports no MFU
 */
record GptRecipe(
        Precision precision,
        OptimizerKind optimizer,
        Schedule schedule,
        int warmup,
        double clip,
        int accumulate,
        int recomputeInterval,
        Exchange exchange,
        Optional<NonFinitePolicy> onNonFinite,
        Optional<Path> tensorBoard,
        double peakFlops) {

    static final List<String> VALUED = List.of(
            "--precision",
            "--optimizer",
            "--lr-schedule",
            "--warmup",
            "--clip",
            "--accumulate",
            "--recompute",
            "--comm-hook",
            "--on-nonfinite",
            "--tensorboard",
            "--peak-flops");

    /** The type of matrix products. */
    enum Precision {
        F32,
        BF16
    }

    /** The optimizers. */
    enum OptimizerKind {
        SGD,
        ADAMW,
        FUSED
    }

    /** The exchange of gradients between ranks. */
    enum Exchange {
        NONE,
        FP16,
        BF16,
        POWERSGD
    }

    /** The learning rate after the warm-up. */
    enum Schedule {
        COSINE,
        LINEAR,
        CONSTANT,
        ONE_CYCLE;

        /** The factor of the peak; {@code progress} goes from 0 to 1. */
        private double factor(double progress) {
            return switch (this) {
                case COSINE -> 0.1 + 0.45 * (1 + StrictMath.cos(Math.PI * progress));
                case LINEAR -> 1 - 0.9 * progress;
                case CONSTANT, ONE_CYCLE -> 1;
            };
        }
    }

    static GptRecipe of(CommandLineArguments given, int defaultWarmup) {
        return new GptRecipe(
                given.word("--precision", Precision.F32),
                given.word("--optimizer", OptimizerKind.ADAMW),
                given.word("--lr-schedule", Schedule.COSINE),
                given.number("--warmup", defaultWarmup, 0),
                given.zeroOrMore("--clip", 1),
                given.number("--accumulate", 0, 1),
                given.number("--recompute", 0, 0),
                given.word("--comm-hook", Exchange.NONE),
                given.text("--on-nonfinite").map(_ -> given.word("--on-nonfinite", NonFinitePolicy.STOP)),
                given.text("--tensorboard").map(Path::of),
                given.text("--peak-flops").isEmpty() ? 0 : given.positive("--peak-flops", 1));
    }

    /** The learning rate after {@code step} of {@code steps} steps. */
    double learningRate(double peak, long step, int steps) {
        if (schedule == Schedule.ONE_CYCLE) {
            return OneCycle.of(peak, Math.max(2, steps)).at(step);
        }
        if (step < warmup) {
            return peak * (step + 1) / warmup;
        }
        return peak * schedule.factor(Math.min(1.0, (step - warmup) / (double) Math.max(1, steps - warmup)));
    }

    /** The same with another number of micro-batches for each step. */
    GptRecipe withAccumulate(int microBatches) {
        return new GptRecipe(
                precision,
                optimizer,
                schedule,
                warmup,
                clip,
                microBatches,
                recomputeInterval,
                exchange,
                onNonFinite,
                tensorBoard,
                peakFlops);
    }

    /** The blocks that are recomputed. */
    RecomputePolicy recompute() {
        return recomputeInterval == 0 ? RecomputePolicy.NONE : RecomputePolicy.oneIn(recomputeInterval);
    }

    /** The communication hook for DDP; empty for an all-reduce in the type of the gradients. */
    Optional<CommunicationHook> communicationHook() {
        return switch (exchange) {
            case NONE -> Optional.empty();
            case FP16 -> Optional.of(CompressionHook.to(DataType.F16));
            case BF16 -> Optional.of(CompressionHook.to(DataType.BF16));
            case POWERSGD ->
                Optional.of(new PowerSgdHook(PowerSgdOptions.DEFAULT.withRank(4).withStartPass(10)));
        };
    }
}
