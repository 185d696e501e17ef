package io.jrun.examples.gpt;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import java.io.PrintStream;
import java.util.Optional;
import org.bytedeco.pytorch.global.torch;

/** Main class of train.jar; {@code --help} says what it does. Runs under jrun, or alone as a world of one. */
public final class TrainGpt {
    private static final int EXIT_USAGE = 2;

    private TrainGpt() {}

    /** Trains; exits with 2 and one line on stderr if the arguments or the data are unusable. */
    public static void main(String[] args) {
        int exitCode = 0;
        try (World world = Distributed.init()) {
            try {
                run(args, world);
            } catch (UsageException e) {
                // From every rank: the first to exit has the others stopped, before they could have said it.
                System.err.println("train: " + e.getMessage());
                exitCode = EXIT_USAGE;
            }
        }
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    private static void run(String[] args, World world) {
        PrintStream out = System.out;
        Optional<GptOptions> parsed = GptOptions.parse(args);
        if (parsed.isEmpty()) {
            if (world.rank() == 0) {
                out.print(GptOptions.HELP);
            }
            return;
        }
        GptOptions options = parsed.get();
        Corpus corpus = Corpus.load(options);
        Libtorch.load();
        Libtorch.setThreads(threads(options, world));
        try (TrainingRun run = new TrainingRun(options, world, corpus, Progress.of(out, options.steps()))) {
            run.run();
        }
    }

    /** With several workers the launcher has divided the cores. One alone is fastest with one of torch's two pools. */
    private static int threads(GptOptions options, World world) {
        if (options.threads() > 0) {
            return options.threads();
        }
        return world.size() > 1 ? torch.get_num_threads() : 1;
    }
}
