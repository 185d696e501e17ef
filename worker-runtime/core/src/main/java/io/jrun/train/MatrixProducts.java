package io.jrun.train;

import java.util.Locale;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Measures the rate of float32 matrix products of libtorch on all cores of this process, and prints it in GFLOP/s. For
 * {@code jrun doctor}, which compares BLAS libraries. Takes less than a second after the load of libtorch.
 */
final class MatrixProducts {
    /** The length of the sides. The products of a layer of a transformer are as large, and fit into a cache. */
    private static final int SIDE = 1024;

    private static final long WARM_UP_NANOS = 200_000_000;
    private static final long MEASURED_NANOS = 400_000_000;

    private MatrixProducts() {}

    /** Prints one line: the rate as a decimal number. */
    public static void main(String[] args) {
        Libtorch.load();
        System.out.printf(Locale.ROOT, "%.1f%n", gigaflops());
    }

    private static double gigaflops() {
        try (PointerScope _ = new PointerScope()) {
            Tensor left = torch.rand(SIDE, SIDE);
            Tensor right = torch.rand(SIDE, SIDE);
            Tensor product = torch.empty(SIDE, SIDE);
            long fastest = fastestNanos(left, right, product, WARM_UP_NANOS);
            fastest = Math.min(fastest, fastestNanos(left, right, product, MEASURED_NANOS));
            return 2.0 * SIDE * SIDE * SIDE / fastest;
        }
    }

    /** Multiplies for {@code nanos}. Returns the shortest time of one product. */
    private static long fastestNanos(Tensor left, Tensor right, Tensor product, long nanos) {
        long fastest = Long.MAX_VALUE;
        long begin = System.nanoTime();
        for (long start = begin; start - begin < nanos; start = System.nanoTime()) {
            torch.matmul_out(product, left, right);
            fastest = Math.min(fastest, System.nanoTime() - start);
        }
        return fastest;
    }
}
