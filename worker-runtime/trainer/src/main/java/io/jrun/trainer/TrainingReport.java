package io.jrun.trainer;

import io.jrun.comm.World;
import io.jrun.comm.file.FileError;
import io.jrun.train.metrics.ModelFlops;
import io.jrun.train.metrics.StepMetrics;
import io.jrun.train.metrics.TensorBoardWriter;
import io.jrun.train.model.ModelDefinition;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reports the metrics of the training: every rank to jrun, rank 0 also to TensorBoard. */
final class TrainingReport implements AutoCloseable {
    private final World world;
    private final StepMetrics metrics;
    private final double peakFlops;
    private final Optional<String> peakNote;
    private final ModelFlops flops;
    private final @Nullable TensorBoardWriter tensorBoard;

    TrainingReport(TrainingArguments options, long parameters, World world) {
        this.world = world;
        ModelDefinition model = options.definition();
        metrics = new StepMetrics(options.steps(), world.metrics());
        PeakOfDevice peak = PeakOfDevice.of(options);
        peakFlops = peak.flops() * world.size();
        peakNote = peak.note();
        flops = ModelFlops.palm(
                parameters,
                model.blockCount(),
                Math.toIntExact(model.width()),
                options.model().context());
        tensorBoard = world.rank() == 0
                ? options.recipe().tensorBoard().map(TrainingReport::open).orElse(null)
                : null;
    }

    private static TensorBoardWriter open(Path folder) {
        try {
            return TensorBoardWriter.open(folder);
        } catch (IOException e) {
            throw new InvalidArgumentException(
                    "--tensorboard: cannot write to " + folder + ": " + FileError.reason(e, folder));
        }
    }

    StepMetrics metrics() {
        return metrics;
    }

    /** The formula of MFU in words, or why a GPU has no MFU; empty on a CPU without {@code --peak-flops}. */
    Optional<String> utilisationFormula() {
        return peakFlops > 0
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "mfu: %.4g operations for a token (%s: 6 P + 12 L W S), peak of all ranks %.4g a second",
                        flops.perToken(),
                        flops.formula(),
                        peakFlops))
                : peakNote;
    }

    /** Reports the steps since the last report. */
    void report(long step, double loss, double gradientNorm, double learningRate) {
        Map<String, Double> values = new LinkedHashMap<>();
        values.put("loss", loss);
        if (!Double.isNaN(gradientNorm)) {
            values.put("gradient_norm", gradientNorm);
        }
        values.put("learning_rate", learningRate);
        writeEvents(step, metrics.report(values, this::withUtilisation));
    }

    /** Reports the loss of an evaluation after a step. */
    void reportHeldOut(long step, double loss) {
        Map<String, Double> values = Map.of("held_out_loss", loss);
        world.metrics().report(step, values);
        writeEvents(step, values);
    }

    private void writeEvents(long step, Map<String, Double> values) {
        if (tensorBoard != null) {
            try {
                tensorBoard.write(step, new LinkedHashMap<>(values));
            } catch (IOException e) {
                throw new InvalidArgumentException(
                        "cannot write " + tensorBoard.file() + ": " + FileError.reason(e, tensorBoard.file()));
            }
        }
    }

    private void withUtilisation(Map<String, Double> values) {
        Double tokensPerSecond = values.get("tokens_per_second");
        if (peakFlops > 0 && tokensPerSecond != null) {
            values.put("mfu", flops.utilisation(tokensPerSecond, peakFlops));
        }
    }

    @Override
    public void close() {
        if (tensorBoard != null) {
            try {
                tensorBoard.close();
            } catch (IOException e) {
                throw new InvalidArgumentException(
                        "cannot write " + tensorBoard.file() + ": " + FileError.reason(e, tensorBoard.file()));
            }
        }
    }
}
