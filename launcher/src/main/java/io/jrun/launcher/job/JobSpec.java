package io.jrun.launcher.job;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * Everything a job is asked to be, checked; made by the command line before anything starts.
 *
 * @param runId names the job and its log folder
 * @param logDirectory absolute; the job's own folder is {@code logDirectory/runId}
 * @param timeout how long the job may take, empty for no limit
 */
public record JobSpec(
        String runId,
        Program program,
        WorkerCount workersPerNode,
        WorkerSettings workers,
        Path logDirectory,
        ConsoleSettings console,
        StopPolicy stop,
        Optional<Duration> timeout,
        Optional<StandingAgent> agent,
        boolean dryRun,
        boolean json) {

    /** How the job ends and begins again. */
    public record StopPolicy(int maxRestarts, Duration gracePeriod, Set<StopSignal> signals) {
        public StopPolicy {
            signals = Set.copyOf(signals);
        }
    }

    /** An agent that was started by {@code jrun agent} and is reached through the loopback interface. */
    public record StandingAgent(String host, int port, Path secretFile) {}
}
