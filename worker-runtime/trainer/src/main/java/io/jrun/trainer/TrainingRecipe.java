package io.jrun.trainer;

import io.jrun.comm.Device;
import io.jrun.train.data.Batch;
import io.jrun.train.precision.Autocast;
import io.jrun.train.precision.NonFinitePolicy;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.trainer.arguments.CommandLineArguments;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The options of the training.
 *
 * @param precision the type of matrix products
 * @param parameters the type of the parameters
 * @param update of the parameters
 * @param exchange of gradients
 * @param recompute the blocks that are computed again
 * @param accumulate micro-batches whose gradients make one step; 0 if {@code --global-batch} decides
 * @param onNonFinite what follows from values that are not finite; empty for no check
 * @param tensorBoard folder of event files
 * @param peakFlops floating point operations a second of one rank's device; 0 if the number is not known, then the
 *     program reports no MFU
 */
public record TrainingRecipe(
        Precision precision,
        ParameterType parameters,
        UpdateOptions update,
        ExchangeOptions exchange,
        RecomputeOptions recompute,
        int accumulate,
        Optional<NonFinitePolicy> onNonFinite,
        Optional<Path> tensorBoard,
        double peakFlops) {
    static final List<String> VALUED = Stream.of(
                    List.of(
                            "--precision",
                            "--parameters",
                            "--accumulate",
                            "--on-nonfinite",
                            "--tensorboard",
                            "--peak-flops"),
                    UpdateOptions.VALUED,
                    ExchangeOptions.VALUED,
                    RecomputeOptions.VALUED)
            .flatMap(List::stream)
            .toList();
    static final List<String> FLAGS = Stream.concat(UpdateOptions.FLAGS.stream(), ExchangeOptions.FLAGS.stream())
            .toList();

    /** The type of matrix products. */
    public enum Precision {
        /** float32. */
        F32,
        /** bfloat16, by autocast. */
        BF16,
        /** float16, by autocast, with a loss scale. */
        F16,
        /** Operands of linear layers are rounded to 8 bits. */
        FP8;

        /** Opens the scope of a forward pass on a device. */
        Autocast autocast(Device device) {
            return switch (this) {
                case F32, FP8 -> Autocast.off(device);
                case BF16 -> Autocast.on(device, torch.ScalarType.BFloat16);
                case F16 -> Autocast.on(device, torch.ScalarType.Half);
            };
        }
    }

    /** The type of the parameters and of the whole computation. First values are those of float32 in this type. */
    public enum ParameterType {
        /** float32. */
        F32(torch.ScalarType.Float),
        /** float64, for exact comparisons. */
        F64(torch.ScalarType.Double),
        /** bfloat16, with float32 master copies in the optimizer. */
        BF16(torch.ScalarType.BFloat16),
        /** float16, with float32 master copies in the optimizer. */
        F16(torch.ScalarType.Half);

        private final torch.ScalarType type;

        ParameterType(torch.ScalarType type) {
            this.type = type;
        }

        /**
         * Converts those parameters of a module that have another type, and its buffers with a fraction. They stay the
         * same objects.
         */
        void convert(Module module) {
            try (PointerScope _ = new PointerScope();
                    NoGradGuard _ = new NoGradGuard()) {
                Stream.concat(
                                ModuleTensors.parameters(module).values().stream(),
                                ModuleTensors.buffers(module).values().stream())
                        .filter(tensor -> tensor.is_floating_point()
                                && tensor.scalar_type().intern() != type)
                        .forEach(tensor -> tensor.set_data(tensor.to(type)));
            }
        }

        /** A batch whose numbers with a fraction are of this type. */
        Batch converted(Batch batch) {
            return new Batch(converted(batch.inputs()), converted(batch.targets()));
        }

        private Tensor converted(Tensor tensor) {
            return tensor.is_floating_point() && tensor.scalar_type().intern() != type ? tensor.to(type) : tensor;
        }

        /** Whether the optimizer keeps wider copies of the parameters. */
        boolean isNarrow() {
            return this == BF16 || this == F16;
        }

        /** The word of {@code --parameters}. */
        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    static TrainingRecipe of(CommandLineArguments given, int defaultWarmup) {
        return new TrainingRecipe(
                given.word("--precision", Precision.F32),
                given.word("--parameters", ParameterType.F32),
                UpdateOptions.of(given, defaultWarmup),
                ExchangeOptions.of(given),
                RecomputeOptions.of(given),
                given.number("--accumulate", 0, 1, 1 << 20),
                given.text("--on-nonfinite").map(_ -> given.word("--on-nonfinite", NonFinitePolicy.STOP)),
                given.text("--tensorboard").map(Path::of),
                given.text("--peak-flops").isEmpty() ? 0 : given.positive("--peak-flops", 1));
    }

    /** Whether gradients are of float16, so that the loss needs a scale. */
    boolean scalesLoss() {
        return precision == Precision.F16 || parameters == ParameterType.F16;
    }

    /** The same with another number of micro-batches for each step. */
    public TrainingRecipe withAccumulate(int microBatches) {
        return with(precision, update, microBatches);
    }

    /** The same with another type of matrix products. */
    public TrainingRecipe withPrecision(Precision newPrecision) {
        return with(newPrecision, update, accumulate);
    }

    /** The same with another update of the parameters. */
    public TrainingRecipe withUpdate(UpdateOptions newUpdate) {
        return with(precision, newUpdate, accumulate);
    }

    /** The same on a device, which decides the default of the optimizer. */
    TrainingRecipe onDevice(Device device) {
        return withUpdate(update.onDevice(device));
    }

    private TrainingRecipe with(Precision newPrecision, UpdateOptions newUpdate, int microBatches) {
        return new TrainingRecipe(
                newPrecision,
                parameters,
                newUpdate,
                exchange,
                recompute,
                microBatches,
                onNonFinite,
                tensorBoard,
                peakFlops);
    }
}
