package io.jrun.launcher.record;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.coordinator.Straggler;
import java.nio.file.Path;
import java.util.List;

/**
 * One job, as its launcher last wrote it down.
 *
 * @param startedMillis wall clock
 * @param endedMillis wall clock, 0 before the end
 * @param exitCode of jrun, -1 before the end
 * @param detached its console is a file in the log folder, {@link RecordFile#CONSOLE}
 * @param graceMillis between asking workers to stop and SIGKILL
 * @param typed the command line of jrun, without the values of {@code --env}
 * @param command what each worker runs, in short
 * @param variables names of the variables given with {@code --env}; their values may be secrets
 * @param hosts as named by the user, empty for this machine
 * @param workers of the last round, by rank; empty before the first
 * @param stragglers ranks that others have waited for, until now or in all
 * @param report what jrun said of the job's failure
 */
public record JobRecord(
        String runId,
        State state,
        ProcessIdentity launcher,
        long startedMillis,
        long endedMillis,
        int exitCode,
        boolean detached,
        long graceMillis,
        int restarts,
        Path workdir,
        List<String> typed,
        List<String> command,
        List<String> variables,
        List<String> hosts,
        List<Worker> workers,
        List<Straggler> stragglers,
        List<String> report) {
    public JobRecord {
        typed = List.copyOf(typed);
        command = List.copyOf(command);
        variables = List.copyOf(variables);
        hosts = List.copyOf(hosts);
        workers = List.copyOf(workers);
        stragglers = List.copyOf(stragglers);
        report = List.copyOf(report);
    }

    JobRecord lost() {
        return new JobRecord(
                runId,
                State.LOST,
                launcher,
                startedMillis,
                endedMillis,
                exitCode,
                detached,
                graceMillis,
                restarts,
                workdir,
                typed,
                command,
                variables,
                hosts,
                workers,
                stragglers,
                report);
    }

    /** Where the job stands. */
    public enum State {
        /** Its agents are being called. */
        STARTING,
        /** Its workers have been started. */
        RUNNING,
        /** It is over. */
        ENDED,
        /** Its launcher is gone without having written down the end: it was killed, or its machine went down. Never written. */
        LOST
    }

    /**
     * One worker.
     *
     * @param pid 0 until it is known
     * @param logFolder where its files are, below the job's log folder; empty until it is known
     * @param gpu its device, empty if it has none of its own
     * @param end how it ended, empty while it runs
     */
    public record Worker(
            int rank, int nodeRank, int localRank, String host, long pid, String logFolder, String gpu, String end) {
        Worker withProcess(long known, String files) {
            return new Worker(rank, nodeRank, localRank, host, known, files, gpu, end);
        }

        Worker withEnd(String how) {
            return new Worker(rank, nodeRank, localRank, host, pid, logFolder, gpu, how);
        }
    }

    /** Whether it was {@link State#LOST}. */
    public boolean isLost() {
        return state == State.LOST;
    }

    /** Whether nothing more will happen. */
    public boolean isOver() {
        return state == State.ENDED || isLost();
    }
}
