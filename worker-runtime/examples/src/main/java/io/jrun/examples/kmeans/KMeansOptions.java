package io.jrun.examples.kmeans;

import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;
import java.util.Optional;

/**
 * The command line of plain-kmeans.jar.
 *
 * @param points number of points of all ranks together
 * @param clusters number of centres
 * @param dimensions number of coordinates of a point
 * @param iterations largest number of iterations
 */
record KMeansOptions(int points, int clusters, int dimensions, int iterations, int seed) {
    static final String HELP = """
            usage: jrun [--nproc-per-node=N] plain-kmeans.jar [options]
            Finds the centres of clusters of random points with Lloyd's algorithm. Each rank has a share of the points.

              --points=N      points of all ranks together  Default: 100000.
              --clusters=N    centres  Default: 16.
              --dimensions=N  numbers of each point  Default: 8.
              --iterations=N  largest number of iterations  Default: 50.
              --seed=N        decides the points  Default: 1.
              --help          print this text
            """;

    private static final List<String> VALUED =
            List.of("--points", "--clusters", "--dimensions", "--iterations", "--seed");

    /** The ranks add all coordinates of the centres in one operation. */
    private static final int MAX_COORDINATES = 1 << 27;

    /**
     * Reads the arguments; empty if the arguments have --help.
     *
     * @throws InvalidArgumentException with one line for the user
     */
    static Optional<KMeansOptions> parse(String... args) {
        CommandLineArguments given = CommandLineArguments.parse(args, VALUED, List.of("--help"));
        if (given.has("--help")) {
            return Optional.empty();
        }
        KMeansOptions options = new KMeansOptions(
                given.number("--points", 100_000, 1, 1 << 28),
                given.number("--clusters", 16, 1, 1 << 20),
                given.number("--dimensions", 8, 1, 1 << 20),
                given.number("--iterations", 50, 1),
                given.number("--seed", 1, 1));
        if (options.points() < options.clusters()) {
            throw new InvalidArgumentException(
                    "--points is " + options.points() + ", fewer than --clusters, which is " + options.clusters());
        }
        if ((long) options.clusters() * options.dimensions() > MAX_COORDINATES) {
            throw new InvalidArgumentException("--clusters=" + options.clusters() + " with --dimensions="
                    + options.dimensions() + " have more than " + MAX_COORDINATES + " coordinates");
        }
        return Optional.of(options);
    }
}
