package io.jrun.bench;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The {@code jrun bench} program; jrun starts one per rank. */
@Command(
        name = "jrun bench",
        mixinStandardHelpOptions = true,
        description = "Measures jrun beside its peers, in one run and interleaved.",
        subcommands = {AllReduceBench.class, DdpBench.class})
public final class BenchMain implements Runnable {
    private BenchMain() {}

    /** Runs the benchmark named by the first argument. */
    public static void main(String[] args) {
        int exitCode = new CommandLine(new BenchMain())
                .setParameterExceptionHandler((wrong, _) -> {
                    System.err.println(
                            "jrun bench: " + wrong.getMessage() + ". 'jrun bench --help' lists what there is.");
                    return CommandLine.ExitCode.USAGE;
                })
                .setExecutionExceptionHandler((failure, _, _) -> {
                    throw failure;
                })
                .execute(args);
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    /** Without a benchmark's name: the usage. */
    @Override
    public void run() {
        CommandLine.usage(this, System.out);
    }
}
