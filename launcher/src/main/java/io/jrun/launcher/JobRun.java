package io.jrun.launcher;

import com.google.protobuf.ByteString;
import io.jrun.agent.node.NetworkVariables;
import io.jrun.agent.node.ProcessIdentity;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import io.jrun.launcher.console.EventConsole;
import io.jrun.launcher.console.LogMultiplexer;
import io.jrun.launcher.coordinator.Coordinator;
import io.jrun.launcher.coordinator.Coordinator.CoordinatorOptions;
import io.jrun.launcher.coordinator.JobOutcome;
import io.jrun.launcher.dashboard.HtmlReport;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventPublisher;
import io.jrun.launcher.files.FileServer;
import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.ExitCode;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.layout.LayoutException;
import io.jrun.launcher.metrics.MetricsEndpoint;
import io.jrun.launcher.metrics.MlflowTracker;
import io.jrun.launcher.process.SignalHandlers;
import io.jrun.launcher.record.JobControlServer;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.record.JobRecorder;
import io.jrun.launcher.record.RecordSchema;
import io.jrun.launcher.report.FailureReport;
import io.jrun.launcher.report.JobResultJson;
import io.jrun.launcher.view.JobView;
import java.io.Closeable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Runs one job from the start to the exit code. {@link #close} prints the remaining messages. */
final class JobRun implements AutoCloseable {
    private final JobSpec job;
    private final List<String> typed;
    private final Path home;
    private final Optional<JobIndex> index;
    private final JobEventPublisher events = new JobEventPublisher();
    private Terminal terminal;
    private LogMultiplexer console;

    /**
     * @param typed the command line, for the record of the job
     * @param index the index of jobs by name, empty if this user has none
     */
    JobRun(JobSpec job, List<String> typed, Path home, Optional<JobIndex> index, Terminal terminal) {
        this.job = job;
        this.typed = List.copyOf(typed);
        this.home = home;
        this.index = index;
        this.terminal = terminal;
        this.console = terminal.console(job);
        events.subscribe(new EventConsole(text -> console.printLine("jrun: " + text)));
    }

    /** The console of the workers of this job. */
    LogMultiplexer console() {
        return console;
    }

    /** Prints a message of jrun on stderr, without waiting for the terminal. */
    void report(String text) {
        events.notice(text);
    }

    /** The context of a job: the source of its agents and of its stop signals. */
    interface RunContext {
        /** Opens the agents of the job. */
        JobAgents open(Consumer<String> notices) throws IOException;

        /** Sends all signals from now on to {@code coordinator}. */
        void signals(Consumer<StopSignal> coordinator);
    }

    /** Runs the job. Returns jrun's exit code. */
    int run() throws IOException, InterruptedException {
        return run(new RunContext() {
            @Override
            public JobAgents open(Consumer<String> notices) throws IOException {
                return JobAgents.open(job, home, notices);
            }

            @Override
            public void signals(Consumer<StopSignal> coordinator) {
                SignalHandlers.install(job.stop().signals(), coordinator);
            }
        });
    }

    /** Runs the job on the agents of {@code context}. Returns jrun's exit code. */
    int run(RunContext context) throws IOException, InterruptedException {
        Path logs = job.logDirectory().resolve(job.runId());
        try (Closeable metrics = serveMetrics();
                RunFolder folder = RunFolder.claim(logs, terminal::report)) {
            index.ifPresent(jobs -> enter(jobs, folder, logs));
            if (DetachedLaunch.isDetachedLauncher()) {
                terminal = Terminal.toFile(logs.resolve(RecordSchema.CONSOLE));
                console = terminal.console(job);
            }
            try (JobRecorder recorder = JobRecorder.begin(logs, this::report);
                    Closeable _ = track()) {
                events.subscribe(recorder);
                if (job.json()) {
                    events.subscribe(new JobResultJson(job.runId(), logs, line -> console.print(terminal.out(), line)));
                }
                events.publish(started());
                if (metrics instanceof MetricsEndpoint endpoint) {
                    report("metrics at " + endpoint.url());
                }
                return run(logs, context);
            } finally {
                writeReport(logs);
            }
        }
    }

    /** Writes the page of --report. The record of the job is complete. */
    private void writeReport(Path logs) {
        job.observation().report().ifPresent(file -> {
            try {
                OutputFile.replace(
                        file, HtmlReport.of(new JobView(job.runId(), logs)).getBytes(StandardCharsets.UTF_8));
            } catch (IOException e) {
                terminal.report("--report: cannot write " + file + ": " + FileError.reason(e, file));
            }
        });
    }

    /** Begins to track the job with --track. The classes of the tracker are loaded only then. */
    private Closeable track() {
        if (job.observation().mlflow().isEmpty()) {
            return () -> {};
        }
        MlflowTracker tracker = MlflowTracker.begin(job.observation().mlflow().get(), this::report);
        events.subscribe(tracker);
        return tracker::close;
    }

    /** Begins to serve metrics with --metrics-port. The classes of the endpoint are loaded only then. */
    private Closeable serveMetrics() {
        if (job.observation().metricsAddress().isEmpty()) {
            return () -> {};
        }
        MetricsEndpoint endpoint =
                MetricsEndpoint.open(job.observation().metricsAddress().get(), job.runId());
        events.subscribe(endpoint);
        return endpoint;
    }

    private JobEvent started() {
        Map<String, String> network = NetworkVariables.of(job.workers().environment());
        return new JobEvent.JobStarted(
                job.runId(),
                Version.TEXT,
                ProcessIdentity.current(),
                DetachedLaunch.isDetachedLauncher(),
                job.stop().gracePeriod().toMillis(),
                job.workers().workingDirectory(),
                typed,
                job.program().shortCommand(),
                job.workers().environment().keySet().stream()
                        .filter(name -> !network.containsKey(name))
                        .sorted()
                        .toList(),
                NetworkVariables.texts(network),
                job.cluster().map(Cluster::names).orElse(List.of()));
    }

    private void enter(JobIndex jobs, RunFolder folder, Path logs) {
        try {
            if (folder.kept().isPresent()) {
                Path kept = folder.kept().get();
                jobs.put(String.valueOf(kept.getFileName()), kept);
            }
            jobs.put(job.runId(), logs);
        } catch (IOException e) {
            terminal.report("'jrun ps' will not show this job: " + FileError.reason(e, ""));
        }
    }

    private int run(Path logs, RunContext context) throws IOException, InterruptedException {
        long start = System.nanoTime();
        CoordinatorOptions options =
                new CoordinatorOptions(Version.TEXT, ByteString.copyFrom(SecretFile.random()), files());
        Coordinator coordinator = new Coordinator(job, options, console, events);
        context.signals(coordinator::signal);
        JobOutcome outcome;
        try (JobControlServer _ = JobControlServer.open(
                        logs,
                        () -> coordinator.signal(StopSignal.TERM),
                        coordinator::requestLocations,
                        coordinator::requestTimelines,
                        this::report);
                JobAgents agents = context.open(this::report)) {
            outcome = coordinator.run(agents.list(), agents.late());
        } catch (UsageException | LayoutException e) {
            events.publish(refused(start, String.valueOf(e.getMessage())));
            throw e;
        }
        double seconds = secondsSince(start);
        coordinator.publishEnd(seconds);
        FailureReport.ofShown(outcome, logs, job.console()).forEach(console::printLine);
        if (outcome.exitCode() == 0 && job.console().terminals().stderr()) {
            report(String.format(Locale.ROOT, "job %s succeeded after %.1f s; logs: %s", job.runId(), seconds, logs));
        }
        events.publish(outcome.event(seconds, FailureReport.of(outcome, logs)));
        return outcome.exitCode();
    }

    /** The job was given up before it began. */
    private static JobEvent refused(long start, String why) {
        return new JobEvent.JobEnded(ExitCode.USAGE, 0, secondsSince(start), Optional.empty(), Map.of(), List.of(why));
    }

    private static double secondsSince(long startNanos) {
        return (System.nanoTime() - startNanos) / 1e9;
    }

    private Optional<FileServer> files() {
        return job.cluster().isPresent()
                ? Optional.of(new FileServer(JobFiles.of(job), this::report))
                : Optional.empty();
    }

    /** Waits for the terminal. A signal ends the wait. */
    @Override
    public void close() {
        SignalHandlers.install(job.stop().signals(), signal -> {
            if (signal.endsJob()) {
                console.giveUp();
            }
        });
        try {
            console.awaitPrinted();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
