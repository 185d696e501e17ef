package io.jrun.launcher.jobs;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.cli.CommandContext;
import io.jrun.launcher.cli.ExecRequest;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.jobs.WorkerProcesses.WorkerProcess;
import io.jrun.launcher.process.SignalHandlers;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import io.jrun.launcher.ssh.SshAgentLauncher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * {@code jrun exec}: runs a command beside a worker: in its namespaces, with its working folder and its variables. A
 * worker of another host is reached by ssh. Confined to one thread.
 */
public final class ExecCommand {
    private final CommandContext commandContext;

    public ExecCommand(CommandContext commandContext) {
        this.commandContext = commandContext;
    }

    /**
     * Runs the command with the terminal of this process. Returns its exit code.
     *
     * @throws UsageException with one line if there is no such worker, or the command cannot be started
     */
    public int run(ExecRequest request) throws InterruptedException {
        if (request.isHere()) {
            return beside(
                    WorkerProcesses.find(request.job(), request.rank())
                            .orElseThrow(() -> new UsageException("exec: no process of this user on "
                                    + ProcessIdentity.current().host() + " is rank " + request.rank() + " of "
                                    + request.job()
                                    + ".")),
                    request);
        }
        IndexedJob job = new JobFinder(commandContext).find(request.job());
        if (job.record().isOver()) {
            throw new UsageException("exec: " + job.name() + " has ended: " + JobTable.state(job.record()) + ".");
        }
        String runId = job.record().job().runId();
        RecordedWorker recorded = job.record().workers().stream()
                .filter(worker -> worker.rank() == request.rank())
                .findFirst()
                .orElseThrow(() -> new UsageException("exec: " + job.name() + " has no rank " + request.rank()
                        + "; it has " + job.record().workers().size() + " workers."));
        Optional<WorkerProcess> worker = WorkerProcesses.find(runId, request.rank());
        if (worker.isPresent()) {
            return beside(worker.get(), request);
        }
        if (!recorded.end().isEmpty()
                || recorded.host().equals(ProcessIdentity.current().host())) {
            throw new UsageException("exec: rank " + request.rank() + " of " + job.name() + " on " + recorded.host()
                    + " does not run" + (recorded.end().isEmpty() ? "" : ": " + recorded.end()) + ".");
        }
        return start(new ProcessBuilder(overSsh(request, runId, recorded.host())));
    }

    private List<String> overSsh(ExecRequest request, String runId, String host) {
        List<String> words = new ArrayList<>(List.of("exec", "--here", runId, Integer.toString(request.rank()), "--"));
        words.addAll(request.command());
        return new SshAgentLauncher(
                        request.sshOptions(),
                        request.remoteJrun(),
                        commandContext.home().toString(),
                        Map.of())
                .run(host, words, commandContext.terminals().stdout());
    }

    private static int beside(WorkerProcess worker, ExecRequest request) throws InterruptedException {
        List<String> command = new ArrayList<>();
        ProcessBuilder builder = new ProcessBuilder(command);
        if (worker.entries().isEmpty()) {
            Path folder = Path.of("/proc/" + worker.pid() + "/cwd");
            if (Files.isDirectory(folder)) {
                builder.directory(folder.toFile());
            }
        } else {
            Optional<Path> owner = worker.ownerOfMounts();
            List<String> entries = new ArrayList<>(worker.entries());
            if (owner.isPresent()) {
                entries.remove("--user");
                addEntry(command, worker, List.of("--user=" + owner.get()));
                command.addAll(entries);
                command.add("--");
                entries = List.of("--user");
            }
            addEntry(command, worker, entries);
            command.addAll(List.of("--root", "--wd", "--"));
        }
        command.addAll(request.command());
        builder.environment().clear();
        builder.environment().putAll(worker.environment());
        Optional.ofNullable(System.getenv("TERM"))
                .ifPresent(term -> builder.environment().put("TERM", term));
        return start(builder);
    }

    private static void addEntry(List<String> command, WorkerProcess worker, List<String> entries) {
        command.add("nsenter");
        command.add("--target=" + worker.pid());
        if (entries.stream().anyMatch(entry -> entry.startsWith("--user"))) {
            command.add("--preserve-credentials");
        }
        command.addAll(entries);
    }

    /** Runs the process with the streams of this one. Ctrl-C is for the process, and TERM and HUP are passed on. */
    private static int start(ProcessBuilder builder) throws InterruptedException {
        try {
            Process process = builder.inheritIO().start();
            SignalHandlers.install(EnumSet.of(StopSignal.TERM, StopSignal.HUP), _ -> process.destroy());
            return process.waitFor();
        } catch (IOException e) {
            throw new UsageException("exec: cannot start '" + builder.command().getFirst()
                    + "': no such command on the PATH of the worker, or no permission to run it.");
        }
    }
}
