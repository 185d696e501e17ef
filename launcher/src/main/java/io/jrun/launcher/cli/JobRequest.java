package io.jrun.launcher.cli;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.UsageException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The command line of a job or of a benchmark. */
public sealed interface JobRequest {
    /** The benchmark's own option. Unlike {@link LaunchOption#BACKEND} it takes several names. */
    String BENCHMARKS_BACKEND = "--backend";

    /** Runs this job, or with --dry-run prints its ranks. */
    record Run(JobSpec job) implements JobRequest {}

    /**
     * Starts this job in the background.
     *
     * @param hasGeneratedId whether the command line has no --run-id
     */
    record Detach(JobSpec job, boolean hasGeneratedId) implements JobRequest {}

    /** Runs this job with mpirun, which starts the ranks. */
    record RunUnderMpi(JobSpec job) implements JobRequest {}

    /**
     * Reads the command line of a job.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    static JobRequest of(ParsedCommand line, CommandContext commandContext) {
        ResolvedOptions settings = ResolvedOptions.ofCommandLine(line);
        List<String> words = new ArrayList<>(line.words());
        if (settings.has(LaunchOption.FILE)) {
            addFile(settings, words, commandContext);
        }
        settings.addEnvironment(commandContext.environment());
        if (words.isEmpty()) {
            throw new UsageException("PROGRAM is missing; usage: jrun [options] PROGRAM [args...]. "
                    + swallowed(line.typed()) + "'jrun -h' shows examples.");
        }
        JobSpec job =
                new JobSpecBuilder(settings, commandContext).build(words.getFirst(), words.subList(1, words.size()));
        return settings.isOn(LaunchOption.DETACH) && !job.dryRun() ? detach(job, line) : new Run(job);
    }

    /** A hint for a line that ends in an option and its value: the value may have been meant as PROGRAM. */
    private static String swallowed(List<String> args) {
        boolean taken = args.size() > 1
                && args.get(args.size() - 2).matches("-[^=]*")
                && !args.getLast().startsWith("-");
        return taken ? "'" + args.getLast() + "' was taken as the value of " + args.get(args.size() - 2) + ". " : "";
    }

    private static JobRequest detach(JobSpec job, ParsedCommand line) {
        if (job.json()) {
            throw new UsageException(
                    "--json and --detach exclude each other (a detached job has no result yet); leave --json out, and"
                            + " use 'jrun describe --json JOB' later.");
        }
        return new Detach(job, !line.has(LaunchOption.RUN_ID));
    }

    /**
     * Reads the command line of {@code jrun bench}: jrun's own options anywhere in the line, all other words for the
     * benchmark.
     *
     * @throws UsageException with one line for the user, if the command line is impossible
     */
    static JobRequest ofBench(ParsedCommand line, CommandContext commandContext) {
        if (line.words().isEmpty()) {
            throw new UsageException(
                    "OPERATION is missing; usage: jrun bench OPERATION [options]. 'jrun bench --help' shows them.");
        }
        ResolvedOptions settings = ResolvedOptions.ofCommandLine(line);
        if (settings.has(LaunchOption.DETACH)) {
            throw new UsageException("--detach is for jobs, and a benchmark prints its result here; leave it out.");
        }
        settings.addEnvironment(commandContext.environment());
        String jar = commandContext.home().resolve("lib/bench/bench.jar").toString();
        JobSpec job =
                new JobSpecBuilder(settings, commandContext).withoutPrefix().build(jar, line.words());
        return needsMpi(line.words()) ? new RunUnderMpi(job) : new Run(job);
    }

    /** Whether one of the measured backends is MPI. */
    private static boolean needsMpi(List<String> words) {
        Stream<String> attached = words.stream()
                .filter(word -> word.startsWith(BENCHMARKS_BACKEND + "="))
                .map(word -> word.substring(BENCHMARKS_BACKEND.length() + 1));
        Stream<String> following = IntStream.range(1, words.size())
                .filter(i -> words.get(i - 1).equals(BENCHMARKS_BACKEND))
                .mapToObj(words::get);
        return Stream.concat(attached, following)
                .anyMatch(value -> List.of(value.split(",", -1)).contains("mpi"));
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
