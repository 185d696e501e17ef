package io.jrun.launcher.record;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.coordinator.ExitCodeDescription;
import io.jrun.launcher.coordinator.JobObserver;
import io.jrun.launcher.coordinator.JobOutcome;
import io.jrun.launcher.coordinator.Straggler;
import io.jrun.launcher.coordinator.WorkerResult;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.layout.RankMap;
import io.jrun.launcher.record.JobRecord.State;
import io.jrun.launcher.record.JobRecord.Worker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Keeps the record of a job that runs. It is written by a thread of its own, at most ten times a second, so that neither the
 * start of thousands of workers nor a slow disk holds up the job; the end is written before {@link #close} returns.
 * Thread-safe.
 */
public final class JobRecorder implements JobObserver, AutoCloseable {
    /** A person who asks for a job's state does not see the difference. */
    private static final long PAUSE_NANOS = 100_000_000;

    private final Path folder;
    private final JobSpec job;
    private final List<String> typed;
    private final boolean detached;
    private final Consumer<String> say;
    private final ProcessIdentity launcher = ProcessIdentity.current();
    private final long startedMillis = System.currentTimeMillis();
    private final Map<Integer, Worker> workers = new TreeMap<>();
    private final Thread writer;
    private State state = State.STARTING;
    private int restarts;
    private int exitCode = -1;
    private long endedMillis;
    private List<Straggler> stragglers = List.of();
    private List<String> report = List.of();
    private boolean changed = true;
    private boolean closed;

    private JobRecorder(Path folder, JobSpec job, List<String> typed, boolean detached, Consumer<String> say) {
        this.folder = folder;
        this.job = job;
        this.typed = List.copyOf(typed);
        this.detached = detached;
        this.say = say;
        this.writer = Thread.ofPlatform().daemon().name("jrun-record").unstarted(this::writeChanges);
    }

    /**
     * Begins the record of {@code job} in its log folder.
     *
     * @param typed the command line of jrun, without the values of {@code --env}
     * @param say told once if it cannot be written; the job goes on without
     */
    public static JobRecorder begin(
            Path folder, JobSpec job, List<String> typed, boolean detached, Consumer<String> say) {
        JobRecorder recorder = new JobRecorder(folder, job, typed, detached, say);
        recorder.writer.start();
        return recorder;
    }

    @Override
    public synchronized void launched(int restartCount, RankMap ranks) {
        state = State.RUNNING;
        restarts = restartCount;
        workers.clear();
        for (Placement place : ranks.placements()) {
            workers.put(
                    place.rank(),
                    new Worker(
                            place.rank(), place.nodeRank(), place.localRank(), place.host(), 0, "", place.gpu(), ""));
        }
        change();
    }

    @Override
    public synchronized void started(int rank, long pid, String logFolder) {
        workers.computeIfPresent(rank, (_, worker) -> worker.withProcess(pid, logFolder));
        change();
    }

    @Override
    public synchronized void late(List<Straggler> late) {
        stragglers = List.copyOf(late);
        change();
    }

    @Override
    public synchronized void ended(WorkerResult end) {
        String how = end.startError().isEmpty()
                ? ExitCodeDescription.brief(end.exitCode())
                : "not started: " + end.startError();
        workers.computeIfPresent(end.rank(), (_, worker) -> worker.withEnd(how));
        change();
    }

    /** The job is over. */
    public void finished(JobOutcome outcome, List<String> failureReport) {
        end(outcome.exitCode(), failureReport);
    }

    /** The job was given up before it began: {@code why}. */
    public void refused(int code, String why) {
        end(code, List.of(why));
    }

    private synchronized void end(int code, List<String> words) {
        state = State.ENDED;
        exitCode = code;
        endedMillis = System.currentTimeMillis();
        report = List.copyOf(words);
        change();
    }

    private void change() {
        changed = true;
        notifyAll();
    }

    private void writeChanges() {
        try {
            while (awaitChange()) {
                RecordFile.write(folder, snapshot());
            }
        } catch (IOException e) {
            say.accept("the job's record cannot be written, so 'jrun ps' will not tell of it: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for a change, and a moment for those that come with it. False after the last one. */
    private synchronized boolean awaitChange() throws InterruptedException {
        while (!changed && !closed) {
            wait();
        }
        long deadline = System.nanoTime() + PAUSE_NANOS;
        for (long left = PAUSE_NANOS; !closed && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        return changed;
    }

    private synchronized JobRecord snapshot() {
        changed = false;
        return new JobRecord(
                job.runId(),
                state,
                launcher,
                startedMillis,
                endedMillis,
                exitCode,
                detached,
                job.stop().gracePeriod().toMillis(),
                restarts,
                job.workers().workingDirectory(),
                typed,
                job.program().shortCommand(),
                job.workers().environment().keySet().stream().sorted().toList(),
                job.cluster().map(Cluster::names).orElse(List.of()),
                List.copyOf(workers.values()),
                stragglers,
                report);
    }

    /** Writes what is still unwritten. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            writer.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
