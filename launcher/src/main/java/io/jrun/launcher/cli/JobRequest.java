package io.jrun.launcher.cli;

import io.jrun.launcher.job.JobSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What the words after {@code jrun} ask for. */
public sealed interface JobRequest {
    /** Run (or with --dry-run, show) this job. */
    record Run(JobSpec job) implements JobRequest {}

    /** Start this job, and leave it to itself. */
    record Detach(JobSpec job) implements JobRequest {}

    /** Run this job with mpirun, which starts the ranks itself. */
    record RunUnderMpi(JobSpec job) implements JobRequest {}

    /** Show the whole help, or as much as fits a screen. */
    record Help(boolean brief) implements JobRequest {}

    /** Show the version. */
    record Version() implements JobRequest {}

    /**
     * Reads a command line without a sub-command.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    static JobRequest parse(List<String> args, CommandContext commandContext) {
        OptionScanner.Scanned parsed = OptionScanner.scan(args);
        if (parsed.help() || parsed.brief()) {
            return new Help(!parsed.help());
        }
        if (parsed.version()) {
            return new Version();
        }
        ResolvedOptions settings = ResolvedOptions.ofCommandLine(parsed);
        List<String> words = new ArrayList<>(parsed.words());
        if (settings.has(LaunchOption.FILE)) {
            addFile(settings, words, commandContext);
        }
        settings.addEnvironment(commandContext.environment());
        if (words.isEmpty()) {
            throw new UsageException("PROGRAM is missing; usage: jrun [options] PROGRAM [args...]. " + swallowed(args)
                    + "'jrun -h' shows examples.");
        }
        JobSpec job =
                new JobSpecBuilder(settings, commandContext).build(words.getFirst(), words.subList(1, words.size()));
        return settings.isOn(LaunchOption.DETACH) && !job.dryRun() ? detach(job) : new Run(job);
    }

    /** Of a line that ends in an option and its value, what was perhaps meant as PROGRAM. */
    private static String swallowed(List<String> args) {
        boolean taken = args.size() > 1
                && args.get(args.size() - 2).matches("-[^=]*")
                && !args.getLast().startsWith("-");
        return taken ? "'" + args.getLast() + "' was taken as the value of " + args.get(args.size() - 2) + ". " : "";
    }

    private static JobRequest detach(JobSpec job) {
        if (job.json()) {
            throw new UsageException(
                    "--json and --detach exclude each other (a detached job has no result yet); leave --json out, and"
                            + " use 'jrun describe --json JOB' later.");
        }
        return new Detach(job);
    }

    /**
     * Reads the command line of {@code jrun bench}: jrun's own options anywhere in it, all else for the benchmark.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    static JobRequest parseBench(List<String> args, CommandContext commandContext) {
        BenchArguments bench = BenchArguments.split(args);
        if (bench.programs().isEmpty()) {
            throw new UsageException(
                    "OPERATION is missing; usage: jrun bench OPERATION [options]. 'jrun bench --help' shows them.");
        }
        OptionScanner.Scanned parsed = OptionScanner.scan(bench.own());
        ResolvedOptions settings = ResolvedOptions.ofCommandLine(parsed);
        if (settings.has(LaunchOption.DETACH)) {
            throw new UsageException("--detach is for jobs, and a benchmark prints its result here; leave it out.");
        }
        settings.addEnvironment(commandContext.environment());
        String jar = commandContext.home().resolve("lib/bench/bench.jar").toString();
        JobSpec job =
                new JobSpecBuilder(settings, commandContext).withoutPrefix().build(jar, bench.programs());
        return bench.needsMpi() ? new RunUnderMpi(job) : new Run(job);
    }

    private static boolean isRegular(Path file) {
        return Files.notExists(file) || Files.isRegularFile(file);
    }

    private static void addFile(ResolvedOptions settings, List<String> words, CommandContext commandContext) {
        String name = settings.text(LaunchOption.FILE, "");
        if (settings.isOn(LaunchOption.DETACH)
                && (name.equals(JobFile.STDIN) || !isRegular(commandContext.resolve(name)))) {
            throw new UsageException(
                    "--file: '" + name + "' is no regular file, and with --detach the job's launcher reads the"
                            + " job file once more. Give a regular file.");
        }
        JobFile file = JobFile.read(name, commandContext);
        file.options().forEach(settings::add);
        if (words.isEmpty() && !file.program().isEmpty()) {
            words.add(file.program());
            words.addAll(file.args());
        }
    }
}
