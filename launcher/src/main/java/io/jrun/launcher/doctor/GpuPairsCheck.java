package io.jrun.launcher.doctor;

import io.jrun.agent.image.FolderDeletion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Measures NCCL between each pair of GPUs of this machine, with a job of one worker for each GPU. */
final class GpuPairsCheck implements Check {
    private static final String WHAT = "nccl";
    private static final String PROGRAM = "io.jrun.bench.gpu.GpuPairs";

    /** Starting a worker takes some seconds on a large machine, and 28 pairs of eight GPUs take half a minute. */
    private static final long LIMIT_SECONDS = 120;

    /** A pair slower than the fastest pair by this factor has another kind of link. */
    private static final double MUCH_SLOWER = 2;

    private final Path home;
    private final Path command;
    private final List<String> gpus;

    /**
     * @param home the folder of the installation
     * @param command the path of jrun
     * @param gpus the visible GPUs as in CUDA_VISIBLE_DEVICES
     */
    GpuPairsCheck(Path home, Path command, List<String> gpus) {
        this.home = home;
        this.command = command;
        this.gpus = List.copyOf(gpus);
    }

    /**
     * A measured pair.
     *
     * @param bytesPerSecond the bytes of an all-reduce, which each of the two ranks sends once, by its time
     * @param micros the time of an all-reduce of four bytes
     */
    record MeasuredPair(int first, int second, double bytesPerSecond, double micros) {
        String name() {
            return first + "-" + second;
        }
    }

    @Override
    public List<CheckResult> run() throws IOException, InterruptedException {
        if (gpus.size() < 2) {
            return List.of(CheckResult.absent(
                    WHAT,
                    "not measured between GPUs: " + (gpus.isEmpty() ? "no GPU" : "only one GPU") + " is visible"));
        }
        if (gpus.stream().anyMatch(gpu -> gpu.startsWith("MIG-"))) {
            return List.of(CheckResult.absent(WHAT, "not measured between GPUs: NCCL does not connect MIG slices"));
        }
        Path jar = home.resolve("lib/bench/bench.jar");
        if (!Files.exists(jar)) {
            return List.of(CheckResult.absent(WHAT, "not measured between GPUs: " + jar + " is missing"));
        }
        Path logs = Files.createTempDirectory("jrun-doctor-");
        try {
            return List.of(result(CommandResult.of(job(jar, logs), LIMIT_SECONDS)));
        } finally {
            FolderDeletion.delete(logs);
        }
    }

    private List<String> job(Path jar, Path logs) {
        return List.of(
                command.toString(),
                "--launch=local",
                "--nproc-per-node=gpu",
                "--gpu-visibility=one",
                "--no-prefix",
                "--timeout=" + (LIMIT_SECONDS - 10),
                "--log-dir=" + logs,
                "--main-class=" + PROGRAM,
                jar.toString());
    }

    static CheckResult result(CommandResult ended) {
        List<MeasuredPair> pairs = new ArrayList<>();
        for (String line : ended.lines()) {
            String[] words = line.split("\t", -1);
            if (words[0].equals("skipped") && words.length == 2) {
                return CheckResult.absent(WHAT, "not measured between GPUs: " + words[1]);
            }
            if (words[0].equals("pair") && words.length == 5) {
                pairs.add(new MeasuredPair(
                        Integer.parseInt(words[1]),
                        Integer.parseInt(words[2]),
                        Double.parseDouble(words[3]),
                        Double.parseDouble(words[4])));
            }
        }
        if (!ended.isWell() || pairs.isEmpty()) {
            return CheckResult.problem(
                    WHAT,
                    "the measurement between GPUs failed with exit code " + ended.exitCode() + ": "
                            + ended.lines().stream()
                                    .filter(line -> line.contains("first failure"))
                                    .findFirst()
                                    .orElse(ended.lastLine()));
        }
        return CheckResult.ok(WHAT, words(pairs))
                .with("pairs", pairs.stream().map(GpuPairsCheck::values).toList());
    }

    private static String words(List<MeasuredPair> pairs) {
        double[] rates = pairs.stream()
                .mapToDouble(MeasuredPair::bytesPerSecond)
                .sorted()
                .toArray();
        double[] times =
                pairs.stream().mapToDouble(MeasuredPair::micros).sorted().toArray();
        double fastest = rates[rates.length - 1];
        List<String> slow = pairs.stream()
                .filter(pair -> pair.bytesPerSecond() * MUCH_SLOWER < fastest)
                .map(MeasuredPair::name)
                .toList();
        return "all-reduce between two GPUs: "
                + range(Arrays.stream(rates).map(rate -> rate / 1e9).toArray(), "%.1f")
                + " GB/s of 64 MiB, " + range(times, "%.0f") + " us of 4 bytes"
                + (slow.isEmpty() ? "" : "; less than half of the fastest: " + String.join(" ", slow));
    }

    private static String range(double[] sorted, String format) {
        String least = String.format(Locale.ROOT, format, sorted[0]);
        String most = String.format(Locale.ROOT, format, sorted[sorted.length - 1]);
        return least.equals(most) ? least : least + " to " + most;
    }

    private static Map<String, Object> values(MeasuredPair pair) {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("first", pair.first());
        values.put("second", pair.second());
        values.put("gbytes_per_s", pair.bytesPerSecond() / 1e9);
        values.put("us", pair.micros());
        return values;
    }
}
