package io.jrun.bench;

import io.jrun.bench.collective.Benchmark;
import io.jrun.bench.collective.CollectiveBench;
import io.jrun.bench.pipeline.PipelineBench;
import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** The {@code jrun bench} program; jrun starts one per rank. */
@Command(
        name = "jrun bench",
        mixinStandardHelpOptions = true,
        optionListHeading = "%nOptions:%n",
        commandListHeading = "%nOperations:%n",
        synopsisSubcommandLabel = "OPERATION",
        description = {
            "Measures collectives, a training step, checkpoints or weights, of jrun and of other libraries, alternately.",
            "",
            "Example:",
            "  jrun bench allreduce --nproc-per-node=2 --backend=jrun,gloo"
        },
        footer = {
            "",
            "'jrun bench OPERATION --help' shows the options of an operation. The options of jrun work too, such as"
                    + " --nproc-per-node, --hosts and --timeout: 'jrun --help' shows them."
        },
        subcommands = {DdpBench.class, PipelineBench.class, CheckpointBench.class, WeightsBench.class})
public final class BenchMain implements Runnable {
    /** Fits a terminal of 100 columns. */
    private static final int WIDTH = 99;

    private BenchMain() {}

    /** Runs the benchmark named by the first argument. */
    public static void main(String[] args) {
        int exitCode = commandLine()
                .setParameterExceptionHandler((wrong, _) -> refuse(text(wrong)))
                .setExecutionExceptionHandler((failure, _, _) -> {
                    if (failure instanceof CommException refused && refused.code() == ErrorCode.USAGE) {
                        return refuse(String.valueOf(refused.getMessage()));
                    }
                    throw failure;
                })
                .execute(args);
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    /**
     * Returns one line that names the error in the arguments; empty if the arguments have no error. The launcher calls
     * this method before it starts ranks.
     */
    public static String check(String[] args) {
        try {
            ParseResult parsed = commandLine().parseArgs(args);
            ParseResult last = parsed.hasSubcommand() ? parsed.subcommand() : parsed;
            if (last.commandSpec().userObject() instanceof Benchmark benchmark && !last.isUsageHelpRequested()) {
                benchmark.check();
            }
            return "";
        } catch (ParameterException wrong) {
            return text(wrong);
        }
    }

    /**
     * Returns the help of the benchmark that {@code args} name, or of all benchmarks. The launcher prints the help
     * without starting ranks.
     */
    public static String help(String[] args) {
        CommandLine command = commandLine();
        return Arrays.stream(args)
                .map(command.getSubcommands()::get)
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(command)
                .getUsageMessage(CommandLine.Help.Ansi.OFF);
    }

    /**
     * Returns the names of the benchmarks and of their long options, separated by blanks, for completion in a shell.
     */
    public static String words(String[] args) {
        Map<String, CommandLine> benchmarks = commandLine().getSubcommands();
        Stream<String> options = benchmarks.values().stream()
                .flatMap(benchmark -> benchmark.getCommandSpec().options().stream())
                .map(OptionSpec::longestName);
        return Stream.concat(benchmarks.keySet().stream(), options).distinct().collect(Collectors.joining(" "));
    }

    private static CommandLine commandLine() {
        CommandLine command = new CommandLine(new BenchMain());
        CollectiveBench.addTo(command);
        command.setUsageHelpWidth(WIDTH); // also for the sub-commands
        return command;
    }

    private static String text(ParameterException wrong) {
        if (wrong instanceof UnmatchedArgumentException unknown) {
            String word = unknown.getUnmatched().getFirst();
            String kind = word.startsWith("-") ? "option" : "operation";
            return "no " + kind + " has the name '" + word
                    + "'. 'jrun bench --help' lists the operations, and 'jrun bench"
                    + " OPERATION --help' the options.";
        }
        return wrong.getMessage() + ". 'jrun bench --help' lists the operations and options.";
    }

    private static int refuse(String why) {
        System.err.println("jrun bench: " + why);
        return CommandLine.ExitCode.USAGE;
    }

    /** Runs without a benchmark's name: prints the usage. */
    @Override
    public void run() {
        CommandLine.usage(this, System.out);
    }
}
