package io.jrun.launcher.event;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.layout.Placement;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Something that happened to a job. {@link EventJson} gives each event its form in JSON, and docs/job-events.md
 * describes the fields.
 */
public sealed interface JobEvent {
    /**
     * The launcher has begun the job. Always the first event.
     *
     * @param detached whether the console of the job is a file in its log folder
     * @param graceMillis the milliseconds between the stop signal and SIGKILL
     * @param typed the command line of jrun, without the values of {@code --env}
     * @param command a short form of the command of each worker
     * @param variables the names of the variables given with {@code --env}; their values may be secrets
     * @param networkVariables the variables of NCCL, libfabric and UCX that all workers get, as NAME=VALUE
     * @param hosts the hosts as the user named them, empty for this machine
     */
    record JobStarted(
            String runId,
            String version,
            ProcessIdentity launcher,
            boolean detached,
            long graceMillis,
            Path workdir,
            List<String> typed,
            List<String> command,
            List<String> variables,
            List<String> networkVariables,
            List<String> hosts)
            implements JobEvent {
        public JobStarted {
            typed = List.copyOf(typed);
            command = List.copyOf(command);
            variables = List.copyOf(variables);
            networkVariables = List.copyOf(networkVariables);
            hosts = List.copyOf(hosts);
        }
    }

    /**
     * The agent of a node has joined the job.
     *
     * @param node the number of the agent, in the order in which the launcher called the agents
     * @param address the address at which ranks of other nodes reach the ranks of this node
     * @param devices the GPUs in index order
     */
    record NodeJoined(int node, String host, String address, int cores, List<String> devices) implements JobEvent {
        public NodeJoined {
            devices = List.copyOf(devices);
        }
    }

    /**
     * The launcher has lost the agent of a node with its workers, or the agent never connected.
     *
     * @param node the number of the agent, as in {@link NodeJoined}
     */
    record NodeLost(int node, String host, String reason) implements JobEvent {}

    /**
     * A round begins: the launcher starts all workers, the first time or again.
     *
     * @param round the number of the round, from 1
     * @param restarts how often the workers were started again after a failure
     * @param workers the workers by rank
     */
    record RoundStarted(int round, int restarts, List<Placement> workers) implements JobEvent {
        public RoundStarted {
            workers = List.copyOf(workers);
        }
    }

    /** All ranks of a round have joined. */
    record RoundJoined(int round) implements JobEvent {}

    /**
     * A worker has a process.
     *
     * @param logFolder the folder of its files, below the log folder of the job
     */
    record WorkerStarted(int round, int rank, long pid, String logFolder) implements JobEvent {}

    /**
     * A worker takes part in no further collective of its round.
     *
     * @param how completes "rank 3 ...": "returned from main"
     */
    record WorkerLeft(int round, int rank, String how) implements JobEvent {}

    /**
     * An elastic worker has left its round and waits for the next round.
     *
     * @param reason the failure that the worker noticed; empty if jrun asked the worker to leave
     */
    record WorkerParked(int round, int rank, String reason) implements JobEvent {}

    /**
     * The process of a worker has ended.
     *
     * @param pid the process id, 0 if the process could not be started
     * @param exitCode the exit code of the process, or 128 + signal
     * @param stopped whether jrun had asked the worker to stop
     * @param oomKilled whether the kernel killed the process because memory ran out
     * @param seconds the seconds from start to end
     * @param error the message of the worker's error record, or empty
     * @param startError the reason why the process could not be started, or empty
     * @param artifacts the paths of crash and heap dumps
     * @param logFolder the folder as in {@link WorkerStarted}; empty if unknown
     */
    record WorkerEnded(
            int round,
            int rank,
            int localRank,
            String host,
            long pid,
            int exitCode,
            boolean stopped,
            boolean oomKilled,
            double seconds,
            String error,
            String startError,
            List<String> artifacts,
            String logFolder)
            implements JobEvent {
        public WorkerEnded {
            artifacts = List.copyOf(artifacts);
        }
    }

    /** A worker has reported values of a step with {@code World.metrics()}. */
    record MetricReported(int round, int rank, long step, Map<String, Double> values) implements JobEvent {
        public MetricReported {
            values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
        }
    }

    /**
     * The agent of a node has read the load of the job's GPUs there. Replaces the last such event of the node.
     *
     * @param node the number of the agent, as in {@link NodeJoined}
     */
    record GpusReported(int node, String host, List<GpuLoad> gpus) implements JobEvent {
        public GpusReported {
            gpus = List.copyOf(gpus);
        }
    }

    /**
     * The agent of a node has read what its workers use. Replaces the last such event of the node.
     *
     * @param node the number of the agent, as in {@link NodeJoined}
     */
    record WorkersMeasured(int node, String host, List<WorkerLoad> workers) implements JobEvent {
        public WorkersMeasured {
            workers = List.copyOf(workers);
        }
    }

    /**
     * Workers have dropped metric reports, because they reported faster than jrun takes them. Replaces the last such
     * event.
     *
     * @param count the number of dropped reports of all ranks since the start of the job
     */
    record MetricsDropped(long count) implements JobEvent {}

    /**
     * The ranks for which others wait have changed. Replaces the last such event.
     *
     * @param stragglers all stragglers, the most expensive rank first
     * @param atEnd whether the workers have ended, so the event is about the whole last round
     */
    record StragglersChanged(List<Straggler> stragglers, boolean atEnd) implements JobEvent {
        public StragglersChanged {
            stragglers = List.copyOf(stragglers);
        }
    }

    /**
     * The launcher has measured the monotonic clock of a node.
     *
     * @param node the number of the agent, as in {@link NodeJoined}
     * @param offsetNanos the node's {@link System#nanoTime} minus the launcher's
     * @param errorNanos the largest error of the offset: half of the shortest round trip
     * @param launcherNanos the launcher's {@link System#nanoTime} at the measurement
     */
    record ClockMeasured(int node, String host, long offsetNanos, long errorNanos, long launcherNanos)
            implements JobEvent {}

    /**
     * A rank has reported its place in a mesh.
     *
     * @param place the axes and positions, such as {@code pp=1 tp=0}
     */
    record RankPlaced(int round, int rank, String place) implements JobEvent {}

    /**
     * A round has failed, or the job before its first round.
     *
     * @param round the number of the round, 0 before the first round
     */
    record FailureDetected(int round, JobFailure failure) implements JobEvent {}

    /** A message of jrun for the user. */
    record Notice(String text) implements JobEvent {}

    /**
     * The job is over. Always the last event.
     *
     * @param exitCode the exit code of jrun
     * @param restarts how often the workers were started again after a failure
     * @param cause the reason why the job stopped early; empty if all workers succeeded
     * @param failureBroadcastSeconds the seconds from the failure until each host confirmed that it knew of the failure
     * @param report the failure report of jrun, in lines
     */
    record JobEnded(
            int exitCode,
            int restarts,
            double seconds,
            Optional<JobFailure> cause,
            Map<String, Double> failureBroadcastSeconds,
            List<String> report)
            implements JobEvent {
        public JobEnded {
            failureBroadcastSeconds = Collections.unmodifiableMap(new LinkedHashMap<>(failureBroadcastSeconds));
            report = List.copyOf(report);
        }
    }
}
