package io.jrun.bench;

import io.jrun.bench.collective.Benchmark;
import io.jrun.bench.collective.CollectiveBench;
import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

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

    /** What is wrong with these arguments, in one line; empty if nothing is. The launcher asks before it starts ranks. */
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

    private static CommandLine commandLine() {
        CommandLine command = new CommandLine(new BenchMain());
        CollectiveBench.addTo(command);
        return command;
    }

    private static String text(ParameterException wrong) {
        return wrong.getMessage() + ". 'jrun bench --help' lists what there is.";
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
