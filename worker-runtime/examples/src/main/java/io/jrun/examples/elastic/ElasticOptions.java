package io.jrun.examples.elastic;

import java.nio.file.Path;
import java.util.Optional;

/**
 * The command line.
 *
 * @param batch samples per step over all ranks
 * @param pauseMillis after each step, to have time for killing a worker
 * @param out where rank 0 writes the parameters at the end
 */
record ElasticOptions(int steps, int batch, int pauseMillis, Optional<Path> out) {
    static final String HELP = """
            Learns to tell two spirals apart, and goes on when workers are lost:
              jrun --nproc-per-node=4 --max-restarts=3 --main-class=io.jrun.examples.elastic.TrainElastic train.jar
            Options: --steps=N (200)  --batch=N over all ranks (24)  --pause=MILLIS after each step (0)  --out=FILE.safetensors
            """;

    /** @throws IllegalArgumentException with a line for the user */
    static ElasticOptions parse(String... args) {
        ElasticOptions options = new ElasticOptions(200, 24, 0, Optional.empty());
        for (String arg : args) {
            int equals = arg.indexOf('=');
            String value = arg.substring(equals + 1);
            options = switch (equals < 0 ? arg : arg.substring(0, equals)) {
                case "--steps" ->
                    new ElasticOptions(number(arg, value), options.batch, options.pauseMillis, options.out);
                case "--batch" ->
                    new ElasticOptions(options.steps, number(arg, value), options.pauseMillis, options.out);
                case "--pause" -> new ElasticOptions(options.steps, options.batch, number(arg, value), options.out);
                case "--out" ->
                    new ElasticOptions(options.steps, options.batch, options.pauseMillis, Optional.of(Path.of(value)));
                default -> throw new IllegalArgumentException("unknown argument " + arg + "\n" + HELP);
            };
        }
        return options;
    }

    private static int number(String arg, String value) {
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(arg + ": expected a number\n" + HELP, e);
        }
    }
}
