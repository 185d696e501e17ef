package io.jrun.agent.job;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.files.PrivateFolder;
import io.jrun.agent.log.ConsoleFeed;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.agent.worker.ContainedWorker;
import io.jrun.agent.worker.JvmDefaults;
import io.jrun.agent.worker.LaunchContext;
import io.jrun.agent.worker.WorkerCommand;
import io.jrun.agent.worker.WorkerEnvironmentBuilder;
import io.jrun.agent.worker.WorkerExit;
import io.jrun.agent.worker.WorkerLogs;
import io.jrun.agent.worker.WorkerPlan;
import io.jrun.agent.worker.WorkerProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One worker process of this node, in its current round. A parked worker continues in later rounds, perhaps under
 * another rank, with its first log files. Confined to the job's thread, to which it passes the events of the process.
 */
final class Worker implements WorkerProcess.Listener {
    private final NodeRound.RoundContext roundContext;
    private final WorkerLogs logs;
    private final WorkerProcess process;
    private final String logFolder;
    private final String containerId;
    private final OptionalLong token;
    private NodeRound round;
    private WorkerSpec spec;
    private long pid;

    private Worker(
            NodeRound round, WorkerSpec spec, WorkerPlan plan, NodeRound.RoundContext roundContext, String containerId)
            throws IOException {
        this.containerId = containerId;
        this.token = plan.token();
        this.round = round;
        this.spec = spec;
        this.roundContext = roundContext;
        this.logs = new WorkerLogs(
                plan,
                roundContext.logLimit(),
                roundContext.feed()::changed,
                spec.getStdin()
                        ? Optional.of(stdin -> roundContext.input().started(spec.getRank(), stdin))
                        : Optional.empty(),
                roundContext.notices());
        this.logFolder =
                roundContext.context().runLogDir().relativize(plan.logDir()).toString();
        this.process = new WorkerProcess(plan, logs, roundContext.parentDeath(), roundContext.guard(), this);
    }

    /**
     * Starts a process. {@code round} receives its start and its end.
     *
     * @param mark of the round's processes
     * @throws IOException if the log folder of the worker cannot be written
     * @throws ContainerException if the container of the worker cannot be made
     */
    static Worker start(
            NodeRound round, LaunchRound launch, WorkerSpec spec, NodeRound.RoundContext roundContext, long mark)
            throws IOException, ContainerException {
        LaunchContext context = roundContext.context();
        Path logDir = context.rankLogDir(launch, spec.getRank());
        Worker worker;
        try {
            PrivateFolder.claim(context.runLogDir());
            WorkerPlan plan = plan(launch, spec, roundContext, mark);
            worker = new Worker(round, spec, plan, roundContext, containerId(launch, spec));
        } catch (IOException e) {
            throw new IOException("its log folder " + logDir + " cannot be written: " + e.getMessage(), e);
        }
        worker.openOnConsole(launch.getRound());
        worker.process.start();
        return worker;
    }

    private static WorkerPlan plan(LaunchRound launch, WorkerSpec spec, NodeRound.RoundContext roundContext, long mark)
            throws ContainerException {
        LaunchContext context = roundContext.context();
        Optional<NodeContainers> containers = roundContext.containers().containers();
        if (containers.isPresent()) {
            ContainedWorker contained = new ContainedWorker(
                    containers.get(), roundContext.containers().spec(), context);
            if (launch.getRestartCount() == 0 && spec.getRank() == 0) {
                contained.environmentConflicts(launch).ifPresent(roundContext.notices());
            }
            return contained.plan(launch, spec, mark, containerId(launch, spec));
        }
        return new WorkerPlan(
                spec.getRank(),
                WorkerCommand.compose(launch, spec, context),
                WorkerEnvironmentBuilder.compose(launch, spec, context),
                Path.of(launch.getWorkingDir()),
                WorkerCommand.neededFiles(launch),
                context.rankLogDir(launch, spec.getRank()),
                mark,
                JvmDefaults.addsVectorModule(launch),
                OptionalLong.empty(),
                false);
    }

    private static String containerId(LaunchRound launch, WorkerSpec spec) {
        return "round-" + launch.getRound() + "-rank-" + spec.getRank();
    }

    /** Continues in another round, which receives the end from now on. */
    void goOnIn(NodeRound next, int number, WorkerSpec nextSpec) {
        round = next;
        spec = nextSpec;
        openOnConsole(number);
    }

    private void openOnConsole(int number) {
        ConsoleFeed feed = roundContext.feed();
        int localRank = spec.getLocalRank();
        if (spec.getConsoleStdout()) {
            feed.add(spec.getRank(), localRank, number, false, spec.getTerminalStdout(), logs.stdout());
        }
        if (spec.getConsoleStderr()) {
            feed.add(spec.getRank(), localRank, number, true, spec.getTerminalStderr(), logs.stderr());
        }
    }

    int rank() {
        return spec.getRank();
    }

    /** The log folder, relative to the log folder of the job. */
    String logFolder() {
        return logFolder;
    }

    /** The process id; 0 until it is known. */
    long pid() {
        return pid;
    }

    /**
     * The number by which the worker identifies itself instead of by its pid. Empty unless the worker has a PID
     * namespace.
     */
    OptionalLong token() {
        return token;
    }

    void stop(int signal) {
        process.stop(signal);
    }

    void kill() {
        process.kill();
    }

    void signal(int signal, boolean toHandlersOnly) {
        process.signal(signal, toHandlersOnly);
    }

    @Override
    public void started(long newPid) {
        roundContext.mailbox().post(() -> {
            pid = newPid;
            round.started(this);
        });
    }

    @Override
    public void ended(WorkerExit end) {
        Optional<String> problem = roundContext
                .containers()
                .ended(containerId, spec.getLocalRank(), roundContext.notices()); // on the worker's thread
        roundContext.mailbox().post(() -> {
            problem.ifPresent(roundContext.notices());
            round.exited(
                    rank(), logFolder, problem.isPresent() && end.exitCode() == 0 ? end.notSaved(problem.get()) : end);
        });
    }
}
