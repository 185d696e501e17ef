package io.jrun.launcher.doctor;

import io.jrun.launcher.blas.MklJars;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Measures how fast workers multiply matrices with OpenBLAS, and with MKL if this user has fetched MKL. Advises the
 * faster library.
 */
final class MatrixProductsCheck implements Check {
    private static final String WHAT = "blas";
    private static final String PROGRAM = "io.jrun.train.MatrixProducts";

    /** Smaller differences are chance in a measurement of less than a second. */
    private static final double CLEARLY_FASTER = 1.05;

    private final Path home;
    private final MklJars mkl;

    /** @param home the folder of the installation */
    MatrixProductsCheck(Path home, MklJars mkl) {
        this.home = home;
        this.mkl = mkl;
    }

    @Override
    public List<CheckResult> run() throws IOException, InterruptedException {
        WorkerJvm jvm = new WorkerJvm(home);
        WorkerJvm.Output openBlas = jvm.run(PROGRAM, List.of(), List.of());
        if (!openBlas.error().isEmpty()) {
            return List.of(CheckResult.problem(WHAT, openBlas.error()));
        }
        double open = rate(openBlas);
        if (!mkl.arePresent()) {
            return List.of(CheckResult.ok(
                            WHAT,
                            "OpenBLAS multiplies float32 matrices at " + words(open)
                                    + ". MKL may be faster, above all on Intel: a job with --blas=mkl fetches MKL"
                                    + " (156 MB), and this check then compares both")
                    .with("openblas_gflops", open));
        }
        WorkerJvm.Output withMkl = jvm.run(PROGRAM, List.of(MklJars.JVM_OPTION), mkl.paths());
        if (!withMkl.error().isEmpty()) {
            return List.of(CheckResult.problem(WHAT, "MKL cannot be used: " + withMkl.error())
                    .with("openblas_gflops", open));
        }
        double other = rate(withMkl);
        return List.of(CheckResult.ok(
                        WHAT,
                        "float32 matrices: OpenBLAS " + words(open) + ", MKL " + words(other) + "; "
                                + advice(open, other))
                .with("openblas_gflops", open)
                .with("mkl_gflops", other));
    }

    private static double rate(WorkerJvm.Output output) {
        return Double.parseDouble(output.lines().getLast().strip());
    }

    static String advice(double openBlas, double mkl) {
        if (mkl > CLEARLY_FASTER * openBlas) {
            return "train with --blas=mkl (or JRUN_BLAS=mkl)";
        }
        return openBlas > CLEARLY_FASTER * mkl ? "train with OpenBLAS, the default" : "no clear difference";
    }

    private static String words(double gflops) {
        return String.format(Locale.ROOT, "%.0f GFLOP/s", gflops);
    }
}
