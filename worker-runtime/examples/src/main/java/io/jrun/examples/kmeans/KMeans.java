package io.jrun.examples.kmeans;

import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.arguments.MemoryNeed;
import io.jrun.trainer.arguments.RankAgreement;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/**
 * Lloyd's algorithm: each rank assigns its points to the nearest centres and sums the points of each centre. An
 * all-reduce adds the sums of all ranks. Each rank then computes the new centres. The coordinates of points are whole
 * numbers. Their sums are exact in double, so any number of ranks finds the same centres, bit for bit.
 */
public final class KMeans {
    private static final int EXIT_USAGE = 2;
    private static final int SPREAD = 1000;
    private static final int DISTANCE = 10_000;

    /** A job without a line for a longer time looks like a job that hangs. */
    private static final Duration LONGEST_SILENCE = Duration.ofSeconds(20);

    private final KMeansOptions options;
    private final ProcessGroup group;
    private final double[][] points;
    private final double[][] centres;

    KMeans(KMeansOptions options, ProcessGroup group) {
        this.options = options;
        this.group = group;
        long from = (long) options.points() * group.groupRank() / group.size();
        long to = (long) options.points() * (group.groupRank() + 1) / group.size();
        points = new double[(int) (to - from)][];
        for (int i = 0; i < points.length; i++) {
            points[i] = point(from + i);
        }
        centres = new double[options.clusters()][];
        for (int c = 0; c < centres.length; c++) {
            centres[c] = point(c);
        }
    }

    /**
     * Runs under jrun, or alone as a world of one rank. Unusable arguments end the program with one line and exit code
     * 2.
     */
    public static void main(String[] args) {
        int exitCode = 0;
        try (World world = Distributed.init()) {
            try {
                run(KMeansOptions.parse(args), world);
            } catch (InvalidArgumentException e) {
                RankAgreement.printOnce(world, "kmeans: " + e.getMessage());
                exitCode = EXIT_USAGE;
            }
        }
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    static void run(Optional<KMeansOptions> options, World world) {
        boolean prints = world.rank() == 0;
        if (options.isEmpty()) {
            if (prints) {
                System.out.print(KMeansOptions.HELP);
            }
            return;
        }
        MemoryNeed.checkHeap(
                "--points=" + options.get().points() + " of --dimensions="
                        + options.get().dimensions(),
                pointBytes(options.get()) * options.get().points() / world.size());
        KMeans kMeans = new KMeans(options.get(), world.group());
        double before = Double.MAX_VALUE;
        double error = Double.MAX_VALUE;
        int iteration = 0;
        long shown = System.nanoTime();
        do {
            before = error;
            error = kMeans.iterate();
            iteration++;
            world.metrics().report(iteration, Map.of("mean_squared_distance", error));
            if (prints && System.nanoTime() - shown > LONGEST_SILENCE.toNanos()) {
                print(iteration, error);
                shown = System.nanoTime();
            }
        } while (error < before && iteration < options.get().iterations());
        if (prints) {
            print(iteration, error);
        }
    }

    private static void print(int iteration, double error) {
        System.out.println("iteration " + iteration + ": mean squared distance " + error);
    }

    /** The bytes of a point on the heap: an array with its header, and the reference to the array. */
    private static double pointBytes(KMeansOptions options) {
        return (double) Double.BYTES * options.dimensions() + 16 + Integer.BYTES;
    }

    /**
     * Point {@code number} of all ranks: a function of the seed and the number. The clusters have equal sizes and
     * random centres.
     */
    private double[] point(long number) {
        SplittableRandom around = new SplittableRandom(options.seed() * 31L + number % options.clusters());
        SplittableRandom own = new SplittableRandom(options.seed() * 1_000_003L + number);
        double[] point = new double[options.dimensions()];
        for (int d = 0; d < point.length; d++) {
            point[d] = around.nextInt(DISTANCE) + own.nextInt(SPREAD);
        }
        return point;
    }

    /** Moves the centres once. Returns the mean squared distance of all points to the centres before. Collective. */
    double iterate() {
        int width = options.dimensions() + 1;
        double[] sums = new double[centres.length * width + 1]; // coordinates and count of each cluster, then the error
        for (double[] point : points) {
            int nearest = nearest(point);
            sums[sums.length - 1] += squaredDistance(point, centres[nearest]);
            for (int d = 0; d < point.length; d++) {
                sums[nearest * width + d] += point[d];
            }
            sums[nearest * width + width - 1]++;
        }
        group.allReduce(MemorySegment.ofArray(sums), DataType.F64, sums.length, ReduceOp.SUM);
        for (int c = 0; c < centres.length; c++) {
            double count = sums[c * width + width - 1];
            if (count > 0) {
                for (int d = 0; d < options.dimensions(); d++) {
                    centres[c][d] = Math.rint(sums[c * width + d] / count);
                }
            }
        }
        return sums[sums.length - 1] / options.points();
    }

    private int nearest(double[] point) {
        int nearest = 0;
        for (int c = 1; c < centres.length; c++) {
            if (squaredDistance(point, centres[c]) < squaredDistance(point, centres[nearest])) {
                nearest = c;
            }
        }
        return nearest;
    }

    private static double squaredDistance(double[] a, double[] b) {
        double sum = 0;
        for (int d = 0; d < a.length; d++) {
            sum += (a[d] - b[d]) * (a[d] - b[d]);
        }
        return sum;
    }

    /** The centres, row by row. */
    double[] centres() {
        return Arrays.stream(centres).flatMapToDouble(Arrays::stream).toArray();
    }
}
