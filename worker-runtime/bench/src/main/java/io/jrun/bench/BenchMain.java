package io.jrun.bench;

import io.jrun.bench.collective.CollectiveBench;
import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The {@code jrun bench} program; jrun starts one per rank. */
@Command(
        name = "jrun bench",
        mixinStandardHelpOptions = true,
        description = "Measures jrun beside its peers, in one run and interleaved.",
        subcommands = DdpBench.class)
public final class BenchMain implements Runnable {
    private BenchMain() {}

    /** Runs the benchmark named by the first argument. */
    public static void main(String[] args) {
        CommandLine command = new CommandLine(new BenchMain());
        CollectiveBench.addTo(command);
        int exitCode = command.setParameterExceptionHandler(
                        (wrong, _) -> refuse(wrong.getMessage() + ". 'jrun bench --help' lists what there is."))
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

    private static int refuse(String why) {
        System.err.println("jrun bench: " + why);
        return CommandLine.ExitCode.USAGE;
    }

    /** Without a benchmark's name: the usage. */
    @Override
    public void run() {
        CommandLine.usage(this, System.out);
    }
}
