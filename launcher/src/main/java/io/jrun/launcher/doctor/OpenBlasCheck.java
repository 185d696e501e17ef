package io.jrun.launcher.doctor;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Checks whether the environment keeps OpenBLAS, which multiplies the matrices of libtorch on CPUs, from the AVX-512
 * instructions of this machine. OpenBLAS chooses its kernels itself if {@code OPENBLAS_CORETYPE} is not set.
 *
 * @param environment the variables that workers inherit
 * @param root the folder with /proc
 */
record OpenBlasCheck(Map<String, String> environment, Path root) implements Check {
    private static final String VARIABLE = "OPENBLAS_CORETYPE";
    private static final Set<String> CORES_WITH_AVX_512 = Set.of("skylakex", "cooperlake", "sapphirerapids");
    private static final Set<String> AVX_512 = Set.of("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl");

    OpenBlasCheck {
        environment = Map.copyOf(environment);
    }

    @Override
    public List<CheckResult> run() {
        String core = environment.getOrDefault(VARIABLE, "");
        if (core.isEmpty()) {
            return List.of();
        }
        String choice = VARIABLE + "=" + core;
        boolean isSlow = !CORES_WITH_AVX_512.contains(core.toLowerCase(Locale.ROOT))
                && cpuFlags().containsAll(AVX_512);
        CheckResult result = isSlow
                ? CheckResult.absent(
                        "matrix products",
                        choice + " keeps OpenBLAS from the AVX-512 instructions of this CPU, so training may take"
                                + " twice as long; unset the variable")
                : CheckResult.ok("matrix products", choice + " chooses the kernels of OpenBLAS");
        return List.of(result.with("openblas_coretype", core));
    }

    /** The instructions of the first processor; empty if unknown. */
    private Set<String> cpuFlags() {
        try (BufferedReader lines = Files.newBufferedReader(root.resolve("proc/cpuinfo"))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("flags")) {
                    return Set.copyOf(List.of(
                            line.substring(line.indexOf(':') + 1).strip().split(" ")));
                }
            }
        } catch (IOException e) {
            return Set.of(); // a machine without this file
        }
        return Set.of();
    }
}
