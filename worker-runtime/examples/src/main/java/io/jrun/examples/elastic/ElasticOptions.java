package io.jrun.examples.elastic;

import java.nio.file.Path;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** The command line of {@link TrainElastic}. */
final class ElasticOptions {
    static final String HELP = """
            Learns to classify the points of two spirals. The training continues when workers are lost.
              jrun --nproc-per-node=4 --max-restarts=3 --main-class=io.jrun.examples.elastic.TrainElastic train.jar

              --steps=N              optimizer steps  Default: 200.
              --batch=N              samples of a step over all ranks  Default: 24.
              --pause=MILLIS         pause after each step  Default: 0.
              --out=FILE.safetensors write the parameters there at the end
              --checkpoint=LOCATION  go on from the newest checkpoint at LOCATION, and save the training there
              --checkpoint-every=N   steps from one checkpoint to the next  Default: 50.
              --hold=STEP:FILE       wait before step STEP until FILE exists, to lose or add workers at this step
            """;

    private int steps = 200;
    private int batch = 24;
    private int pauseMillis;
    private Optional<Path> out = Optional.empty();
    private Optional<String> checkpoint = Optional.empty();
    private int checkpointEvery = 50;
    private final SortedMap<Integer, Path> holds = new TreeMap<>();

    private ElasticOptions() {}

    /** @throws IllegalArgumentException with a line for the user */
    static ElasticOptions parse(String... args) {
        ElasticOptions options = new ElasticOptions();
        for (String arg : args) {
            options.take(arg);
        }
        return options;
    }

    private void take(String arg) {
        int equals = arg.indexOf('=');
        String value = arg.substring(equals + 1);
        switch (equals < 0 ? arg : arg.substring(0, equals)) {
            case "--steps" -> steps = number(arg, value);
            case "--batch" -> batch = number(arg, value);
            case "--pause" -> pauseMillis = number(arg, value);
            case "--out" -> out = Optional.of(Path.of(value));
            case "--checkpoint" -> checkpoint = Optional.of(value);
            case "--checkpoint-every" -> checkpointEvery = positive(arg, value);
            case "--hold" -> {
                int colon = value.indexOf(':');
                holds.put(number(arg, value.substring(0, Math.max(0, colon))), Path.of(value.substring(colon + 1)));
            }
            default -> throw new IllegalArgumentException("unknown argument " + arg + "\n" + HELP);
        }
    }

    private static int number(String arg, String value) {
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(arg + ": expected a number\n" + HELP, e);
        }
    }

    private static int positive(String arg, String value) {
        int number = number(arg, value);
        if (number < 1) {
            throw new IllegalArgumentException(arg + ": expected 1 or more\n" + HELP);
        }
        return number;
    }

    int steps() {
        return steps;
    }

    /** Samples per step, over all ranks. */
    int batch() {
        return batch;
    }

    /** The pause after each step in milliseconds: time in which a user can kill a worker. */
    int pauseMillis() {
        return pauseMillis;
    }

    /** The file to which rank 0 writes the parameters at the end. */
    Optional<Path> out() {
        return out;
    }

    /** The location of checkpoints: a folder or {@code s3://bucket/prefix}. */
    Optional<String> checkpoint() {
        return checkpoint;
    }

    /** Steps from one checkpoint to the next. */
    int checkpointEvery() {
        return checkpointEvery;
    }

    /** The file for which all ranks wait before {@code step}. */
    Optional<Path> hold(int step) {
        return Optional.ofNullable(holds.get(step));
    }
}
