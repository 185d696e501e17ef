package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.models.transformer.LanguageModel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Measures a training with full sharding on one rank and one GPU, beside Python's {@code fully_shard} on the same GPU:
 * the time of a step and the peak of the memory of tensors. A process measures one training, so that no earlier one has
 * memory. A time is no reason to fail.
 */
public final class FsdpTimes {
    private static final String PEER = "--peer=";
    private static final String TRAINING = "--training=";
    private static final double MIB = 1 << 20;

    private FsdpTimes() {}

    /**
     * Runs one measurement. The arguments are {@code --training=NAME}, such as {@code time-step-b8-fsdp}; {@code --json};
     * and {@code --peer=PROGRAM}, the program for Python.
     */
    public static void main(String[] args) {
        List<String> words = Arrays.asList(args);
        FsdpTraining training = training(value(words, TRAINING).orElse(""));
        PythonPeer python = new PythonPeer(value(words, PEER).map(Path::of));
        boolean hasFailed;
        try (World world = Distributed.init()) {
            CheckReport report = new CheckReport(world, words.contains("--json"));
            report.check(training.label(), () -> measure(world, training, python));
            hasFailed = report.hasFailed();
        }
        if (hasFailed) {
            System.exit(1);
        }
    }

    private static Optional<String> value(List<String> words, String option) {
        return words.stream()
                .filter(word -> word.startsWith(option))
                .map(word -> word.substring(option.length()))
                .findFirst();
    }

    private static FsdpTraining training(String label) {
        return Arrays.stream(FsdpTraining.values())
                .filter(each -> each.label().equals(label))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(TRAINING + label + " is none of "
                        + Arrays.stream(FsdpTraining.values())
                                .map(FsdpTraining::label)
                                .toList()));
    }

    private static String measure(World world, FsdpTraining training, PythonPeer python) throws Exception {
        GpuCheck.requireCudaBuild();
        Device device = Device.cuda(0);
        FsdpSteps.Result own;
        try (ProcessGroup group = NcclGroup.ofThisRank(world)) {
            LanguageModel model = training.model(device);
            StepTokens tokens = StepTokens.of(training.batch(), model.context(), model.vocabulary(), device);
            own = new FsdpSteps(group).measure(model, tokens, training.setting());
        }
        Map<String, Double> other = python.measure(training.pythonWords().toArray(String[]::new));
        double peak = own.peakBytes() / MIB;
        return String.format(Locale.ROOT, "%.3f ms, loss %.4f", own.millis(), own.loss())
                + python.beside(own.millis(), PythonPeer.number(other, "step_ms"))
                + String.format(Locale.ROOT, "; peak of tensors %.0f MiB", peak)
                + python.beside(peak, PythonPeer.number(other, "peak_mib"));
    }
}
