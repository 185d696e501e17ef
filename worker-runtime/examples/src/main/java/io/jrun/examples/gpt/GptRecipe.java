package io.jrun.examples.gpt;

import io.jrun.comm.DataType;
import io.jrun.examples.options.CommandLineArguments;
import io.jrun.examples.options.InvalidArgumentException;
import io.jrun.train.ddp.CommunicationHook;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.hook.CompressionHook;
import io.jrun.train.ddp.hook.PowerSgdHook;
import io.jrun.train.ddp.hook.PowerSgdOptions;
import io.jrun.train.optim.OneCycle;
import io.jrun.train.precision.Autocast;
import io.jrun.train.precision.NonFinitePolicy;
import io.jrun.train.recompute.RecomputePolicy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.bytedeco.pytorch.global.torch;

/**
 * The options of the training.
 *
 * @param clip largest global norm of the gradients; 0 for no limit
 * @param accumulate micro-batches whose gradients make one step; 0 if {@code --global-batch} decides
 * @param recomputeInterval one block in this many is recomputed; 0 for none
 * @param localSgdRanks neighbouring ranks that exchange gradients; 0 for all ranks
 * @param averageDecay decay of the average of the parameters; 0 for no average
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
        DdpOptions ddp,
        int localSgdRanks,
        double averageDecay,
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
            "--bucket-cap-mb",
            "--local-sgd",
            "--ema",
            "--on-nonfinite",
            "--tensorboard",
            "--peak-flops");
    static final List<String> FLAGS = List.of("--static-graph", "--find-unused-parameters");

    /** The type of matrix products. */
    enum Precision {
        F32,
        BF16,
        F16,
        FP8;

        /** Opens the scope of a forward pass. */
        Autocast autocast() {
            return switch (this) {
                case F32, FP8 -> Autocast.off(torch.DeviceType.CPU);
                case BF16 -> Autocast.cpuBfloat16();
                case F16 -> Autocast.cpuFloat16();
            };
        }
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
                ddp(given),
                given.number("--local-sgd", 0, 1),
                averageDecay(given),
                given.text("--on-nonfinite").map(_ -> given.word("--on-nonfinite", NonFinitePolicy.STOP)),
                given.text("--tensorboard").map(Path::of),
                given.text("--peak-flops").isEmpty() ? 0 : given.positive("--peak-flops", 1));
    }

    /** A given cap is the size of all buckets, as in torch. */
    private static DdpOptions ddp(CommandLineArguments given) {
        DdpOptions options = DdpOptions.DEFAULT
                .withStaticGraph(given.has("--static-graph"))
                .withFindUnusedParameters(given.has("--find-unused-parameters"));
        long cap = (long) given.number("--bucket-cap-mb", 0, 1) << 20;
        return cap == 0 ? options : options.withBuckets(cap, cap);
    }

    private static double averageDecay(CommandLineArguments given) {
        double decay = given.text("--ema").isEmpty() ? 0 : given.positive("--ema", 1);
        if (decay >= 1) {
            throw new InvalidArgumentException("--ema is '" + decay + "', expected a number above 0 and below 1");
        }
        return decay;
    }

    /**
     * Refuses options that do not work together.
     *
     * @throws InvalidArgumentException with one line
     */
    void check(ParallelOptions parallel, GptConfig model, CheckpointOptions checkpoints) {
        List<String> alone = new ArrayList<>();
        if (precision == Precision.F16 || precision == Precision.FP8) {
            alone.add("--precision=" + (precision == Precision.F16 ? "f16" : "fp8"));
        }
        if (averageDecay > 0) {
            alone.add("--ema");
        }
        if (localSgdRanks > 0) {
            alone.add("--local-sgd");
        }
        if (!ddp.equals(DdpOptions.DEFAULT)) {
            alone.add("--static-graph, --find-unused-parameters and --bucket-cap-mb");
        }
        boolean isShared = parallel.sharesLayers()
                || parallel.zeroStage() > 0
                || model.experts().interval() > 0;
        refuse(
                !alone.isEmpty() && isShared,
                String.join(", ", alone) + ": only for ranks with whole models, without --shard, --zero, --tp, --cp,"
                        + " --pp and --experts");
        refuse(
                precision == Precision.F16 && onNonFinite.isPresent(),
                "--precision=f16 skips steps with values that are not finite: give no --on-nonfinite");
        refuse(
                precision == Precision.FP8 && recomputeInterval > 0,
                "--precision=fp8 changes its scales with each forward pass: give no --recompute");
        refuse(
                localSgdRanks > 0 && exchange != Exchange.NONE,
                "--local-sgd is an exchange of gradients by itself: give no --comm-hook");
        refuse(
                localSgdRanks > 0 && checkpoints.location().isPresent(),
                "--local-sgd has different parameters on different ranks: give no --checkpoint");
    }

    private static void refuse(boolean isUnsupported, String message) {
        if (isUnsupported) {
            throw new InvalidArgumentException(message);
        }
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
                ddp,
                localSgdRanks,
                averageDecay,
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
