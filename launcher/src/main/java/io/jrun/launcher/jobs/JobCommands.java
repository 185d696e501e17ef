package io.jrun.launcher.jobs;

import io.jrun.comm.file.ControlCharacters;
import io.jrun.comm.record.RankRanges;
import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.CommandOption;
import io.jrun.launcher.cli.JobsRequest;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobControlRequest;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecordReader;
import io.jrun.launcher.record.LatestMetrics;
import io.jrun.launcher.record.RecordSchema;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** Runs one command about jobs. Confined to one thread. */
public final class JobCommands {
    /** Milliseconds between two polls of the record. */
    private static final long POLL_MILLIS = 50;

    /** The time that a launcher has after the end of the last worker, to finish a slow console and its report. */
    private static final long END_MILLIS = 30_000;

    private final JobFinder finder;
    private final OutputStream out;
    private final Consumer<String> notices;

    /**
     * Runs commands of a user.
     *
     * @param out receives the result
     * @param notices receives notices for the user
     */
    public JobCommands(CommandContext commandContext, OutputStream out, Consumer<String> notices) {
        this.finder = new JobFinder(commandContext);
        this.out = out;
        this.notices = notices;
    }

    /**
     * Runs the command. Returns the exit code.
     *
     * @throws UsageException with one line for the user, if the command is impossible
     */
    public int run(JobsRequest request) throws IOException, InterruptedException {
        return switch (request.command()) {
            case PS -> list(request);
            case DESCRIBE -> describe(finder.find(request.job()), request.has(CommandOption.JSON));
            case LOGS -> logs(finder.find(request.job()), request);
            case ATTACH -> attach(finder.find(request.job()));
            case CANCEL -> cancel(finder.find(request.job()), request.has(CommandOption.NOW));
            case RM -> {
                print(JobRemoval.run(finder, request, notices));
                yield 0;
            }
            case STACK -> stack(finder.find(request.job()), request);
            default -> throw new IllegalArgumentException(request.command() + " is no command about jobs");
        };
    }

    private int list(JobsRequest request) throws IOException {
        List<IndexedJob> jobs = finder.index().stream()
                .flatMap(index -> index.all().stream())
                .filter(entry ->
                        request.has(CommandOption.ALL) || !entry.record().isOver())
                .toList();
        print(
                request.has(CommandOption.JSON)
                        ? List.of(JobsJson.list(jobs))
                        : JobTable.lines(jobs, System.currentTimeMillis()));
        return 0;
    }

    private int describe(IndexedJob job, boolean json) throws IOException {
        LatestMetrics.LatestReports latest = LatestMetrics.read(job.logs());
        print(json ? List.of(JobsJson.describe(job, latest)) : JobDescription.lines(job, latest.gpus()));
        return 0;
    }

    private int logs(IndexedJob job, JobsRequest request) throws IOException, InterruptedException {
        TreeSet<Integer> known = new TreeSet<>();
        job.record().workers().forEach(worker -> known.add(worker.rank()));
        boolean none = request.ranks()
                .filter(chosen -> Collections.disjoint(chosen, known))
                .isPresent();
        if (none && !known.isEmpty() && !request.has(CommandOption.FOLLOW)) {
            throw new UsageException(
                    "logs: " + job.name() + " has no such rank; it has " + RankRanges.withNoun(known) + ".");
        }
        new LogReader(job, request, out, notices).read();
        return 0;
    }

    private int attach(IndexedJob job) throws IOException, InterruptedException {
        if (!job.record().job().detached()) {
            throw new UsageException(
                    "attach: " + job.name() + " was not started with --detach, so it has no console file;"
                            + " 'jrun logs -f " + job.name() + "' shows the output of its workers.");
        }
        if (!job.record().isOver()) {
            notices.accept("attached to " + job.name() + "; Ctrl-C ends only this command, 'jrun cancel " + job.name()
                    + "' stops the job");
        }
        FileTail console = new FileTail(job.logs().resolve(RecordSchema.CONSOLE));
        JobRecordReader reader = new JobRecordReader(job.logs());
        while (true) {
            JobRecord record = reader.read();
            boolean over = record.isOver();
            console.copyTo(out, _ -> {}); // a console file has no limit
            if (over) {
                return exitCode(job, record);
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
    }

    private int exitCode(IndexedJob job, JobRecord record) {
        if (record.isLost()) {
            notices.accept(job.name() + ": " + JobDescription.LOST);
            return ExitCode.LOST;
        }
        return record.exitCode();
    }

    private int cancel(IndexedJob job, boolean now) throws IOException, InterruptedException {
        if (job.record().isOver()) {
            notices.accept(job.name() + " has ended already: " + JobTable.state(job.record()));
            return 0;
        }
        request(job, now ? "kill" : "cancel");
        long timeoutMillis = job.record().job().graceMillis() + END_MILLIS;
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        JobRecordReader reader = new JobRecordReader(job.logs());
        JobRecord record = reader.read();
        while (!record.isOver()) {
            if (System.nanoTime() - deadline >= 0) {
                throw new UsageException("cancel: " + job.name() + " has not stopped within " + timeoutMillis / 1000
                        + " s; 'jrun cancel --now " + job.name() + "' kills its workers.");
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
            record = reader.read();
        }
        print(List.of(job.name() + ": " + JobTable.state(record)));
        return 0;
    }

    private int stack(IndexedJob job, JobsRequest request) throws IOException {
        if (job.record().isOver()) {
            throw new UsageException("stack: " + job.name() + " has ended: " + JobTable.state(job.record()) + ".");
        }
        String ranks = request.ranks().stream()
                .flatMap(chosen -> chosen.stream())
                .map(rank -> " " + rank)
                .collect(Collectors.joining());
        List<String> answer = request(job, "stack" + ranks);
        print(answer.isEmpty() ? List.of("no such rank runs at the moment") : answer);
        return 0;
    }

    private static List<String> request(IndexedJob job, String line) {
        try {
            return JobControlRequest.send(job.logs(), line);
        } catch (IOException e) {
            JobRecord record = job.record();
            throw new UsageException(job.name() + ": its launcher, process "
                    + record.job().launcher().pid() + " on "
                    + record.job().launcher().host() + ", cannot be reached from here (" + e.getMessage()
                    + "). Run the command on that host.");
        }
    }

    private void print(List<String> lines) throws IOException {
        String text = lines.stream()
                .map(line -> ControlCharacters.replaced(line) + "\n")
                .collect(Collectors.joining());
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}
