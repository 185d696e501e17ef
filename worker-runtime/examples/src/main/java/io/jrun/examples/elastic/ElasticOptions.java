package io.jrun.examples.elastic;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.arguments.RankAgreement;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The command lines of {@link TrainElastic} and {@link TrainSharded}.
 *
 * @param batch samples of a step over all ranks
 * @param pauseMillis the pause after each step in milliseconds: time in which a user can kill a worker
 * @param out the file to which rank 0 writes the parameters at the end
 * @param checkpoint the location of checkpoints: a folder or {@code s3://bucket/prefix}
 * @param checkpointEvery steps from one checkpoint to the next
 * @param holds the file for which all ranks wait before a step, by the number of the step
 */
record ElasticOptions(
        int steps,
        int batch,
        int pauseMillis,
        Optional<Path> out,
        Optional<String> checkpoint,
        int checkpointEvery,
        Map<Integer, Path> holds) {
    static final String HELP = """
            Learns to classify the points of two spirals. The training continues when workers are lost.
              jrun --nproc-per-node=4 --max-restarts=3 --main-class=io.jrun.examples.elastic.TrainElastic train.jar

              --steps=N              optimizer steps  Default: 200.
              --batch=N              samples of a step over all ranks  Default: 24.
              --pause=MILLIS         pause after each step  Default: 0.
              --out=FILE.safetensors write the parameters there at the end
              --help                 print this text
            Options of TrainElastic only:
              --checkpoint=LOCATION  go on from the newest checkpoint at LOCATION, and save the training there
              --checkpoint-every=N   steps from one checkpoint to the next  Default: 50.
              --hold=STEP:FILE       wait before step STEP until FILE exists, to lose or add workers at this step
            """;

    private static final int EXIT_USAGE = 2;

    /** The options of TrainSharded. */
    static final List<String> SHARDED = List.of("--steps", "--batch", "--pause", "--out");

    /** The options of TrainElastic. */
    static final List<String> ELASTIC = Stream.concat(
                    SHARDED.stream(), Stream.of("--checkpoint", "--checkpoint-every", "--hold"))
            .toList();

    ElasticOptions {
        holds = Map.copyOf(holds);
    }

    /**
     * Reads the arguments of a program as {@link #parse} does, and prints the help. Ends the process with exit code 2
     * after one line on stderr, if the arguments are unusable.
     */
    static Optional<ElasticOptions> parseOrExit(List<String> valued, String... args) {
        try {
            Optional<ElasticOptions> options = parse(valued, args);
            if (options.isEmpty()) {
                try (World world = Distributed.init()) {
                    if (world.rank() == 0) {
                        System.out.print(HELP);
                    }
                }
            }
            return options;
        } catch (InvalidArgumentException e) {
            try (World world = Distributed.init()) {
                RankAgreement.printOnce(world, "train: " + e.getMessage());
            }
            System.exit(EXIT_USAGE);
            throw e;
        }
    }

    /**
     * Reads the arguments of a program; empty if the arguments have --help.
     *
     * @param valued the options of the program
     * @throws InvalidArgumentException with one line for the user
     */
    static Optional<ElasticOptions> parse(List<String> valued, String... args) {
        CommandLineArguments given = CommandLineArguments.parse(args, valued, List.of("--help"));
        if (given.has("--help")) {
            return Optional.empty();
        }
        Map<Integer, Path> holds = new HashMap<>();
        given.texts("--hold").forEach(hold -> putHold(hold, holds));
        return Optional.of(new ElasticOptions(
                given.number("--steps", 200, 0),
                given.number("--batch", 24, 1),
                given.number("--pause", 0, 0),
                given.text("--out").map(Path::of),
                given.text("--checkpoint"),
                given.number("--checkpoint-every", 50, 1),
                holds));
    }

    private static void putHold(String hold, Map<Integer, Path> holds) {
        int colon = hold.indexOf(':');
        if (!hold.matches("\\d{1,9}:.+")) {
            throw new InvalidArgumentException("--hold is '" + hold + "', expected STEP:FILE");
        }
        holds.put(Integer.valueOf(hold.substring(0, colon)), Path.of(hold.substring(colon + 1)));
    }

    /** The file for which all ranks wait before {@code step}. */
    Optional<Path> hold(int step) {
        return Optional.ofNullable(holds.get(step));
    }
}
