package io.jrun.trainer;

import io.jrun.comm.DataType;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.JoinOptions;
import io.jrun.train.ddp.hook.CompressionHook;
import io.jrun.train.ddp.hook.PowerSgdHook;
import io.jrun.train.ddp.hook.PowerSgdOptions;
import io.jrun.train.reducer.AllReduceHook;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;
import java.util.Optional;

/**
 * The options of the exchange of gradients by DDP.
 *
 * @param hook the exchange
 * @param ddp the options of DistributedDataParallel
 * @param localSgdRanks neighbouring ranks that exchange gradients; 0 for all ranks
 * @param unevenEnd trains once on all batches, of which the ranks may have unequal numbers
 * @param reports whether the end of the training has the report of DDP
 */
public record ExchangeOptions(
        HookKind hook, DdpOptions ddp, int localSgdRanks, Optional<UnevenEnd> unevenEnd, boolean reports) {
    static final List<String> VALUED = List.of("--comm-hook", "--bucket-cap-mb", "--local-sgd", "--uneven");
    static final List<String> FLAGS = List.of("--static-graph", "--find-unused-parameters", "--ddp-report");

    private static final int MEBIBYTE_BITS = 20;

    /** The communication hooks. */
    public enum HookKind {
        /** Gradients travel unchanged. */
        NONE,
        /** Gradients travel as float16. */
        FP16,
        /** Gradients travel as bfloat16. */
        BF16,
        /** PowerSGD of rank 4, from the 11th pass on. */
        POWERSGD;

        /** Whether float32 gradients travel as 16-bit numbers. */
        boolean isShortening() {
            return this == FP16 || this == BF16;
        }
    }

    /** The treatment of ranks that have no batch left while other ranks have one. */
    public enum UnevenEnd {
        /** The rank takes part in the steps of the others. */
        JOIN,
        /** The training ends on all ranks. */
        STOP;

        JoinOptions joinOptions() {
            return JoinOptions.DEFAULT.withThrowOnEarlyTermination(this == STOP);
        }
    }

    static ExchangeOptions of(CommandLineArguments given) {
        return new ExchangeOptions(
                given.word("--comm-hook", HookKind.NONE),
                ddp(given),
                given.number("--local-sgd", 0, 1),
                given.text("--uneven").map(_ -> given.word("--uneven", UnevenEnd.JOIN)),
                given.has("--ddp-report"));
    }

    /** A single cap is the size of all buckets, as in torch. */
    private static DdpOptions ddp(CommandLineArguments given) {
        DdpOptions options = DdpOptions.DEFAULT
                .withStaticGraph(given.has("--static-graph"))
                .withFindUnusedParameters(given.has("--find-unused-parameters"));
        return given.text("--bucket-cap-mb").isEmpty()
                ? options
                : options.withBuckets(given.words("--bucket-cap-mb", "").stream()
                        .map(ExchangeOptions::cap)
                        .toList());
    }

    private static long cap(String word) {
        try {
            int mebibytes = Integer.parseInt(word);
            if (mebibytes > 0) {
                return (long) mebibytes << MEBIBYTE_BITS;
            }
        } catch (NumberFormatException _) {
            // Not a number: refused below, like a number that is out of range.
        }
        throw new InvalidArgumentException(
                "--bucket-cap-mb has '" + word + "', expected whole numbers of at least 1 with commas between them");
    }

    /** Whether an option needs DDP. */
    boolean needsDdp() {
        return !ddp.equals(DdpOptions.DEFAULT) || unevenEnd.isPresent() || reports;
    }

    /** The hook that {@code --comm-hook} names, in its first state. */
    CommunicationHook communicationHook() {
        return switch (hook) {
            case NONE -> new AllReduceHook();
            case FP16 -> CompressionHook.to(DataType.F16);
            case BF16 -> CompressionHook.to(DataType.BF16);
            case POWERSGD ->
                new PowerSgdHook(PowerSgdOptions.DEFAULT.withRank(4).withStartPass(10));
        };
    }
}
