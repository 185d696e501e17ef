package io.jrun.agent.worker;

import io.jrun.agent.guard.Guard;
import io.jrun.agent.proto.WorkerErrorReport;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.commons.exec.ProcessDestroyer;
import org.jspecify.annotations.Nullable;

/**
 * One worker, from fork to waitpid, on a platform thread of its own that lives exactly as long, because the kernel's
 * parent-death signal is bound to the forking thread. Any thread may send signals. Signals reach only a process that
 * has not been reaped. A signal before the fork is delivered after the fork.
 */
public final class WorkerProcess {
    /** Receives the two events of a worker, on the thread of the worker. */
    public interface Listener {
        /** The worker runs. */
        void started(long pid);

        /** The worker has ended, or could not be started. This is the last event. */
        void ended(WorkerExit end);
    }

    private static final int SIGKILL = 9;

    private record Signal(int number, boolean toHandlersOnly) {}

    private final WorkerPlan plan;
    private final WorkerLogs logs;
    private final ParentDeath parentDeath;
    private final Guard guard;
    private final Listener listener;

    private final List<Signal> beforeFork = new ArrayList<>();
    private @Nullable Process process;
    private boolean reaped;
    private boolean stopRequested;
    private boolean endedAfterStop;
    private int waitStatus;
    private long startNanos;
    private long endNanos;

    /** Makes a worker. {@link #start} starts it. */
    public WorkerProcess(WorkerPlan plan, WorkerLogs logs, ParentDeath parentDeath, Guard guard, Listener listener) {
        this.plan = plan;
        this.logs = logs;
        this.parentDeath = parentDeath;
        this.guard = guard;
        this.listener = listener;
    }

    /** Forks on a new thread. Returns at once. */
    public void start() {
        Thread.ofPlatform().name("jrun-worker-" + plan.rank()).daemon().start(this::run);
    }

    /** Sends the stop signal to the whole process group. The end of the worker then counts as requested. */
    public synchronized void stop(int signal) {
        stopRequested = true;
        send(new Signal(signal, false));
    }

    /** Kills the whole process group. */
    public synchronized void kill() {
        stop(SIGKILL);
    }

    /** Sends a signal to the whole process group, or only to its processes that have a handler for the signal. */
    public synchronized void signal(int signal, boolean toHandlersOnly) {
        send(new Signal(signal, toHandlersOnly));
    }

    private synchronized void send(Signal signal) {
        if (reaped) {
            return;
        }
        if (process == null) {
            beforeFork.add(signal);
        } else if (signal.toHandlersOnly()) {
            SignalMask.handlers(process.pid(), signal.number())
                    .forEach(pid -> guard.signalProcess(pid, signal.number()));
        } else {
            guard.signalGroup(process.pid(), signal.number());
        }
    }

    private void run() {
        String startError = "";
        int startExitCode = 0;
        Optional<Preflight.Failure> failure = Preflight.check(plan);
        if (failure.isPresent()) {
            startError = failure.get().reason();
            startExitCode = failure.get().exitCode();
        } else {
            try {
                execute();
            } catch (IOException | RuntimeException | Error e) {
                startError = reasonOf(e); // report every error to the job, also "no more threads"
                startExitCode = Preflight.NOT_EXECUTABLE;
            }
        }
        logs.close();
        listener.ended(end(startError, startExitCode));
    }

    private void execute() throws IOException {
        ExactExecutor executor = new ExactExecutor(plan.workingDir());
        executor.setStreamHandler(logs);
        executor.setExitValues(null); // every exit code is a result, none an exception
        executor.setProcessDestroyer(new Watch());
        logs.onExit(this::onExit);
        if (plan.acceptsOwners()) {
            OwnerFilter.install();
        }
        startNanos = System.nanoTime();
        executor.execute(new ExactCommandLine(parentDeath.wrap(plan.command(), plan.mark())), plan.environment());
    }

    private synchronized void onStart(Process started) {
        guard.add(started.pid());
        process = started;
        beforeFork.forEach(this::send);
        beforeFork.clear();
    }

    /** Called right after waitpid. No signal may follow. The rest of the group is killed. */
    private synchronized void onExit() {
        endNanos = System.nanoTime();
        reaped = true;
        endedAfterStop = stopRequested;
        if (process != null) {
            waitStatus = process.exitValue();
            guard.sweep(process.pid());
        }
    }

    private synchronized WorkerExit end(String startError, int startExitCode) {
        Optional<WorkerErrorReport> error = ErrorRecords.of(plan.logDir());
        return new WorkerExit(
                process == null ? 0 : process.pid(),
                process == null ? startExitCode : waitStatus,
                endedAfterStop,
                process == null ? startError : "",
                error,
                WorkerPostMortem.fileTail(logs.stderr().path()),
                WorkerPostMortem.artifacts(plan.logDir()),
                (endNanos - startNanos) / 1e9);
    }

    private static String reasonOf(Throwable e) {
        return e.getCause() == null ? e.toString() : e + ": " + e.getCause().getMessage();
    }

    /**
     * Commons Exec passes the process to its process destroyer right after the fork, and reports its end at the very
     * end.
     */
    private final class Watch implements ProcessDestroyer {
        @Override
        public boolean add(Process started) {
            onStart(started);
            listener.started(started.pid());
            return true;
        }

        @Override
        public boolean remove(Process ended) {
            return true;
        }

        @Override
        public int size() {
            return 0;
        }
    }
}
