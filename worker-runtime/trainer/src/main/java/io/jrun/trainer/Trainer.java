package io.jrun.trainer;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.data.DataException;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.ReplicaException;
import io.jrun.train.model.ModelDefinition;
import io.jrun.train.offload.OffloadException;
import io.jrun.train.precision.NonFiniteException;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.arguments.MemoryNeed;
import io.jrun.trainer.arguments.RankAgreement;
import io.jrun.trainer.data.TrainingData;
import java.io.PrintStream;
import java.util.Locale;
import java.util.Optional;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains a model on all ranks. The command line decides how: which data, how the ranks share the model, the
 * precision, the optimizer, the checkpoints, the reports. A program needs its model and one call:
 *
 * <pre>{@code
 * public static void main(String[] args) {
 *     Trainer.main("own-model.jar", args, OwnModel::new);
 * }
 * }</pre>
 *
 * <p>The program runs under jrun, or alone as a world of one rank. {@code --help} prints all options.
 */
public final class Trainer {
    private static final int EXIT_FAILURE = 1;
    private static final int EXIT_USAGE = 2;

    /** To build a larger model takes seconds, which a line announces. */
    private static final double LARGE_BYTES = 1e9;

    private final String program;
    private final String usage;
    private final ModelOptions model;

    private Trainer(String program, String usage, ModelOptions model) {
        this.program = program;
        this.usage = usage;
        this.model = model;
    }

    /**
     * Trains a model without options of its own. Unusable arguments, data or checkpoints end the process with one line on
     * stderr and exit code 2. A save that fails, or a value that is not finite, ends the process with one line and exit code 1.
     *
     * @param jar the file of the program, for {@code --help} and for errors
     */
    public static void main(String jar, String[] args, ModelFactory model) {
        main(jar, "usage: jrun [--nproc-per-node=N] " + jar + " [options]\n", args, ModelOptions.none(model));
    }

    /**
     * As {@link #main(String, String[], ModelFactory)}, for a model with options.
     *
     * @param usage the first lines of {@code --help}, each with its end of line
     */
    public static void main(String jar, String usage, String[] args, ModelOptions model) {
        String program = jar.endsWith(".jar") ? jar.substring(0, jar.length() - ".jar".length()) : jar;
        int exitCode;
        try (World world = Distributed.init()) {
            exitCode = new Trainer(program, usage, model).run(args, world);
        }
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    private int run(String[] args, World world) {
        try {
            parseAndTrain(args, world);
            return 0;
        } catch (InvalidArgumentException | DataException | OffloadException e) {
            RankAgreement.printOnce(world, program + ": " + e.getMessage());
            return EXIT_USAGE;
        } catch (CheckpointException | NonFiniteException | ReplicaException e) {
            RankAgreement.printOnce(world, program + ": " + e.getMessage());
            return EXIT_FAILURE;
        }
    }

    private void parseAndTrain(String[] args, World world) {
        Optional<TrainingArguments> parsed = TrainingArguments.parse(args, model, world.size());
        boolean prints = world.rank() == 0;
        if (parsed.isEmpty()) {
            if (prints) {
                System.out.print(TrainingArguments.help(usage, model));
            }
            return;
        }
        TrainingArguments given = parsed.get();
        if (prints) {
            given.notes().forEach(System.out::println);
        }
        TrainingArguments options = given.withDevice(
                given.device().choose(world, note -> RankAgreement.printOnce(world, program + ": " + note)));
        DeviceOptionChecks.check(options);
        Libtorch.setThreads(options.threads() > 0 ? options.threads() : defaultThreads(world));
        train(options, world, prints ? Progress.onStdout() : Progress.SILENT);
    }

    /** jrun divides the cores among several workers. A single worker is fastest with one thread. */
    private static int defaultThreads(World world) {
        Libtorch.load();
        return world.size() > 1 ? torch.get_num_threads() : 1;
    }

    /**
     * Trains in a world of the caller, as {@link #main} does. All ranks give equal arguments.
     *
     * @param out gets the notes and the progress of rank 0
     * @throws InvalidArgumentException with one line, if the arguments, the data or a checkpoint cannot be used
     * @throws CheckpointException if a save fails
     */
    public static void train(TrainingArguments arguments, World world, PrintStream out) {
        arguments.check();
        if (world.rank() == 0) {
            arguments.notes().forEach(out::println);
        }
        TrainingArguments options = arguments.withDevice(arguments.device().choose(world, out::println));
        DeviceOptionChecks.check(options);
        train(options, world, world.rank() == 0 ? new Progress(out, false) : Progress.SILENT);
    }

    /** The whole training, as every rank runs it. Only rank 0 has a {@code progress} that prints. */
    static void train(TrainingArguments given, World world, Progress progress) {
        CudaGraphChecks.check(given, world.size());
        try (DeviceMesh mesh = given.parallel().mesh(world)) {
            TrainingArguments options =
                    given.withAccumulation(ParallelOptions.dataGroup(mesh).size());
            requireMemory(options, world); // at once, with the vocabulary of bytes
            try (TrainingData<?> data = options.model()
                    .factory()
                    .open(options.data(), options.model().context(), world)) {
                TrainingArguments whole = options.withData(data.vocabulary(), data.length());
                requireMemory(whole, world);
                double bytes = stateBytes(whole);
                if (bytes > LARGE_BYTES) {
                    progress.print(String.format(
                            Locale.ROOT,
                            "building a model with %.1f GB of parameters, gradients and optimizer states on each rank",
                            bytes / 1e9));
                }
                TrainingRun.run(whole, data, world, mesh, progress);
            }
        }
    }

    /** The least memory of each rank, however the ranks share the model. */
    private static void requireMemory(TrainingArguments options, World world) {
        ModelDefinition model = options.definition();
        ParallelOptions parallel = options.parallel();
        MemoryNeed.check(
                "the parameters, gradients and optimizer states of a model of " + model.summary(),
                stateBytes(options),
                world);
        MemoryNeed.check(
                "the outputs of --micro-batch=" + options.microBatch() + " sequences of --context="
                        + options.model().context(),
                model.outputBytes()
                        * options.microBatch()
                        * options.model().context()
                        / ((double) parallel.tensor() * parallel.context()),
                world);
    }

    /** The least bytes of a rank for the parameters, the gradients and the optimizer. With --offload they lie in files. */
    private static double stateBytes(TrainingArguments options) {
        ParallelOptions parallel = options.parallel();
        double ranks = (double) parallel.tensor() * parallel.pipeline() * parallel.shards() * parallel.experts();
        int tensors = 2 + options.recipe().update().stateTensors();
        return parallel.offload().isPresent()
                ? 0
                : tensors * options.definition().parameterBytes() / ranks;
    }
}
