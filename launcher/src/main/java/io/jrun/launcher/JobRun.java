package io.jrun.launcher;

import com.google.protobuf.ByteString;
import io.jrun.launcher.console.LogMux;
import io.jrun.launcher.console.RankPrefix;
import io.jrun.launcher.coordinator.Coordinator;
import io.jrun.launcher.coordinator.Coordinator.CoordinatorOptions;
import io.jrun.launcher.coordinator.Outcome;
import io.jrun.launcher.coordinator.Straggler;
import io.jrun.launcher.files.FileDesk;
import io.jrun.launcher.files.JobFiles;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.process.SignalHandlers;
import io.jrun.launcher.report.FailureReport;
import io.jrun.launcher.report.JobJson;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** One job from start to exit code. */
final class JobRun {
    private final JobSpec job;
    private final Path home;
    private final Terminal terminal;

    JobRun(JobSpec job, Path home, Terminal terminal) {
        this.job = job;
        this.home = home;
        this.terminal = terminal;
    }

    /** Runs the job; returns jrun's exit code. */
    int run() throws IOException, InterruptedException {
        long start = System.nanoTime();
        // With --json, stdout is the machine's: what workers print there goes to stderr.
        LogMux console = new LogMux(
                job.json() ? terminal.err() : terminal.out(),
                terminal.err(),
                new RankPrefix(job.console().prefixed(), terminal.outColoured() && !job.json(), terminal.errColoured()),
                job.console().terminals());
        CoordinatorOptions options = new CoordinatorOptions(
                Version.TEXT, ByteString.copyFrom(SecretFile.random()), files(text -> console.say("jrun: " + text)));
        Coordinator coordinator = new Coordinator(job, options, console, text -> console.say("jrun: " + text));
        SignalHandlers.install(job.stop().signals(), coordinator::signal);
        Path logs = job.logDirectory().resolve(job.runId());
        Outcome outcome;
        try (RunFolder _ = RunFolder.claim(logs, terminal::say);
                JobAgents agents = JobAgents.open(job, home, text -> console.say("jrun: " + text))) {
            outcome = coordinator.run(agents.list());
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        List<Straggler> stragglers = coordinator.stragglers(seconds);
        stragglers.forEach(straggler -> terminal.say(straggler.words()));
        FailureReport.of(outcome, logs).forEach(terminal::error);
        if (job.json()) {
            terminal.print(JobJson.result(job, outcome, stragglers, seconds));
        }
        return outcome.exitCode();
    }

    private Optional<FileDesk> files(Consumer<String> say) {
        return job.cluster().isPresent() ? Optional.of(new FileDesk(JobFiles.of(job), say)) : Optional.empty();
    }
}
