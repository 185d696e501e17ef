package io.jrun.examples.kmeans;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    private static final List<String> NAMES =
            List.of("--points", "--clusters", "--dimensions", "--iterations", "--seed");

    /**
     * Reads the arguments; empty if the arguments have --help. Throws IllegalArgumentException with one line for the
     * user.
     */
    static Optional<KMeansOptions> parse(String[] args) {
        Map<String, Integer> given = new HashMap<>();
        for (String arg : args) {
            if (arg.equals("--help")) {
                return Optional.empty();
            }
            int equals = arg.indexOf('=');
            String name = equals < 0 ? arg : arg.substring(0, equals);
            if (!NAMES.contains(name)) {
                throw new IllegalArgumentException("unknown option '" + arg + "'. See --help.");
            }
            given.put(name, number(name, equals < 0 ? "" : arg.substring(equals + 1)));
        }
        KMeansOptions options = new KMeansOptions(
                given.getOrDefault("--points", 100_000),
                given.getOrDefault("--clusters", 16),
                given.getOrDefault("--dimensions", 8),
                given.getOrDefault("--iterations", 50),
                given.getOrDefault("--seed", 1));
        if (options.points() < options.clusters()) {
            throw new IllegalArgumentException(
                    "--points is " + options.points() + ", fewer than --clusters, which is " + options.clusters());
        }
        return Optional.of(options);
    }

    private static int number(String name, String text) {
        try {
            int number = Integer.parseInt(text);
            if (number >= 1) {
                return number;
            }
        } catch (NumberFormatException _) {
            // Not a number: refused below, like a number that is too small.
        }
        throw new IllegalArgumentException(name + " is '" + text + "', expected a whole number of at least 1");
    }
}
