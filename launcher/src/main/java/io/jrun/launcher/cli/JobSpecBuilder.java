package io.jrun.launcher.cli;

import io.jrun.agent.LauncherAddress;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.node.NetworkVariables;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.ConsoleSettings;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.JobSpec.StopPolicy;
import io.jrun.launcher.job.LivenessSettings;
import io.jrun.launcher.job.LogRetention;
import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.job.ObservationSettings;
import io.jrun.launcher.job.PlacementRules;
import io.jrun.launcher.job.Program;
import io.jrun.launcher.job.StdinChoice;
import io.jrun.launcher.job.StopSignal;
import io.jrun.launcher.job.TerminalStreams;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerSettings;
import io.jrun.launcher.job.WorkerSettings.GpuVisibility;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Checks {@link ResolvedOptions} and makes the job. Confined to one thread. */
final class JobSpecBuilder {
    private static final String DEFAULT_SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGUSR1,SIGUSR2";
    /** The default of {@code --shutdown-timeout}, in seconds. */
    static final String DEFAULT_GRACE = "30";

    private static final String OWN_BACKEND = "jrun";

    private final ResolvedOptions settings;
    private final CommandContext commandContext;
    private final PlacementOptions placement;
    private boolean prefixed = true;

    JobSpecBuilder(ResolvedOptions settings, CommandContext commandContext) {
        this.settings = settings;
        this.commandContext = commandContext;
        this.placement = new PlacementOptions(settings);
    }

    /** Prints the workers' lines without a prefix. */
    JobSpecBuilder withoutPrefix() {
        prefixed = false;
        return this;
    }

    JobSpec build(String word, List<String> args) {
        List<String> words = Stream.concat(Stream.of(word), args.stream()).toList();
        Optional<Cluster> cluster = new ClusterReader(settings, commandContext, placement)
                .read()
                .or(() -> new RendezvousOptionsReader(settings, commandContext, placement).read(words));
        NodePolicy nodes = new NodeOptions(settings, cluster).policy();
        new OptionDependencies(settings).check(cluster, nodes);
        // Reads all options before the search for PROGRAM, because a wrong option may be the reason for a missing
        // program.
        String runId = runId();
        PlacementRules rules = placement.rules(cluster.isPresent());
        Path logDirectory = logDirectory();
        Optional<LogRetention> logs = settings.get(LaunchOption.LOG_LIMIT)
                .map(limit -> OptionValues.logLimit(settings.text(LaunchOption.LOG_LIMIT, ""), limit.name()));
        ConsoleSettings console = console();
        StopPolicy stopPolicy = stopPolicy();
        LivenessSettings liveness = liveness();
        Optional<Duration> timeout = settings.get(LaunchOption.TIMEOUT).map(_ -> positiveTime(LaunchOption.TIMEOUT));
        ProgramFinder programs = new ProgramFinder(settings, commandContext);
        WorkerSettings workers = workers(
                programs.isJava(word),
                cluster.map(Cluster::reach)
                        .filter(Cluster.ByRendezvous.class::isInstance)
                        .isPresent(),
                new RendezvousOptionsReader(settings, commandContext, placement).master(cluster, nodes.isElastic()),
                nodes.isElastic() || stopPolicy.maxRestarts() > 0,
                new ContainerOptions(settings, commandContext)
                        .read(nodes.isElastic()
                                || cluster.filter(named -> named.hosts().size() != 1)
                                        .isPresent()));
        Program program = programs.find(word, args);
        return new JobSpec(
                runId,
                program,
                rules,
                workers,
                logDirectory,
                logs,
                console,
                stopPolicy,
                liveness,
                nodes,
                timeout,
                cluster,
                settings.isOn(LaunchOption.DRY_RUN),
                settings.isOn(LaunchOption.JSON),
                observation());
    }

    private ObservationSettings observation() {
        return new ObservationSettings(
                settings.get(LaunchOption.METRICS_PORT).map(_ -> metricsAddress()),
                settings.get(LaunchOption.TRACK)
                        .map(track -> OptionForm.mlflow(settings.text(LaunchOption.TRACK, ""), track.name())),
                settings.get(LaunchOption.REPORT).map(_ -> reportFile()),
                settings.isOn(LaunchOption.TRACE));
    }

    /** Refuses a file without a folder at the begin of the job, because the file is written at the end. */
    private Path reportFile() {
        String text = settings.text(LaunchOption.REPORT, "");
        Path file = commandContext.resolve(text);
        Path parent = file.getParent();
        if (Files.isDirectory(file) || parent == null || !Files.isDirectory(parent)) {
            throw new UsageException(settings.name(LaunchOption.REPORT) + ": cannot write " + text + ": "
                    + (Files.isDirectory(file) ? "a folder, not a file" : MissingPath.words(file, "no such folder"))
                    + ".");
        }
        return file;
    }

    private InetSocketAddress metricsAddress() {
        LauncherAddress address = OptionForm.metricsAddress(
                settings.text(LaunchOption.METRICS_PORT, ""), settings.name(LaunchOption.METRICS_PORT));
        return InetSocketAddress.createUnresolved(address.host(), address.port());
    }

    private String runId() {
        String rendezvousId = settings.text(LaunchOption.RDZV_ID, "");
        return settings.text(LaunchOption.RUN_ID, RunId.isUsable(rendezvousId) ? rendezvousId : RunId.generate());
    }

    private WorkerSettings workers(
            boolean isJava,
            boolean isRendezvous,
            LauncherAddress master,
            boolean mayRestart,
            Optional<ContainerSpec> container) {
        Path directory = commandContext.resolve(settings.text(LaunchOption.WORKDIR, "."));
        if (!Files.isDirectory(directory)) {
            throw new UsageException(settings.name(LaunchOption.WORKDIR) + ": "
                    + settings.text(LaunchOption.WORKDIR, ".") + ": "
                    + (Files.exists(directory)
                            ? "a file, not a folder"
                            : MissingPath.words(directory, "no such folder"))
                    + ".");
        }
        return new WorkerSettings(
                variables(isRendezvous),
                directory,
                gpuVisibility(isJava),
                settings.isOn(LaunchOption.VIRTUAL_LOCAL_RANK),
                settings.text(LaunchOption.ROLE, "default"),
                master.host(),
                master.port(),
                stdin(mayRestart),
                staged(directory),
                container);
    }

    private StdinChoice stdin(boolean mayRestart) {
        String name = settings.name(LaunchOption.STDIN);
        StdinChoice choice = OptionValues.stdin(settings.text(LaunchOption.STDIN, "none"), name);
        if (choice.isNone()) {
            return choice;
        }
        if (mayRestart) {
            throw new UsageException(
                    name + " is for jobs that do not restart, because no worker can read the same input"
                            + " twice. Leave out --max-restarts and MIN:MAX, or give the input as a file.");
        }
        if (settings.isOn(LaunchOption.DETACH)) {
            throw new UsageException(name + ": a job of --detach has no standard input. Leave one of the two out.");
        }
        if (settings.text(LaunchOption.FILE, "").equals(JobFile.STDIN)) {
            throw new UsageException(name + ": --file=" + JobFile.STDIN + " reads the standard input too. Give the job"
                    + " file by its name.");
        }
        return choice;
    }

    private List<Path> staged(Path workingDirectory) {
        List<Path> paths = new ArrayList<>();
        for (String text : settings.all(LaunchOption.STAGE)) {
            Path path = commandContext.resolve(text);
            if (!Files.exists(path)) {
                throw new UsageException(settings.name(LaunchOption.STAGE) + ": " + text + ": "
                        + MissingPath.words(path, "no such file or folder") + ".");
            }
            if (!path.startsWith(workingDirectory)) {
                throw new UsageException(settings.name(LaunchOption.STAGE) + ": " + text
                        + " is outside of the working directory " + workingDirectory
                        + ", below which workers find it; give a --workdir that holds it.");
            }
            paths.add(path);
        }
        return paths;
    }

    private Map<String, String> variables(boolean isRendezvous) {
        // With a jrun on each node, the environment of each node counts, as with torchrun.
        Map<String, String> variables =
                new HashMap<>(isRendezvous ? Map.of() : NetworkVariables.of(commandContext.environment()));
        variables.putAll(settings.workerVariables());
        if (settings.has(LaunchOption.BACKEND)) {
            variables.put("JRUN_BACKEND", backend());
        }
        if (settings.has(LaunchOption.ENCRYPT)) {
            variables.put("JRUN_ENCRYPT", settings.isOn(LaunchOption.ENCRYPT) ? "1" : "0");
        }
        return variables;
    }

    private String backend() {
        String backend = settings.text(LaunchOption.BACKEND, "");
        if (!backend.startsWith(OWN_BACKEND) && settings.isOn(LaunchOption.ENCRYPT)) {
            throw new UsageException(settings.name(LaunchOption.ENCRYPT) + ": " + backend
                    + " sends its data in plain text; use --backend=" + OWN_BACKEND + ", or leave --encrypt out.");
        }
        return backend;
    }

    private GpuVisibility gpuVisibility(boolean isJava) {
        if (!settings.has(LaunchOption.GPU_VISIBILITY)) {
            return isJava || settings.isOn(LaunchOption.VIRTUAL_LOCAL_RANK)
                    ? GpuVisibility.ONE_BY_DEFAULT
                    : GpuVisibility.ALL;
        }
        return GpuVisibility.valueOf(
                settings.text(LaunchOption.GPU_VISIBILITY, "").toUpperCase(Locale.ROOT));
    }

    private Path logDirectory() {
        if (settings.has(LaunchOption.LOG_DIR)) {
            return commandContext.resolve(settings.text(LaunchOption.LOG_DIR, ""));
        }
        Path logs = commandContext
                .stateFolder()
                .map(state -> state.resolve("logs"))
                .orElseThrow(() -> new UsageException(
                        "no folder for log files: HOME and XDG_STATE_HOME are unset. Give --log-dir."));
        Path existing = logs;
        while (!Files.exists(existing)) {
            existing = Objects.requireNonNull(existing.getParent(), "the root folder does not exist");
        }
        if (!settings.isOn(LaunchOption.DRY_RUN) && !Files.isWritable(existing)) {
            String variable = commandContext.variable("XDG_STATE_HOME", "").isEmpty() ? "HOME" : "XDG_STATE_HOME";
            throw new UsageException("no folder for log files: " + variable + "="
                    + commandContext.variable(variable, "") + ", and this user cannot write in " + existing
                    + ". Give --log-dir, or set XDG_STATE_HOME.");
        }
        return logs;
    }

    private ConsoleSettings console() {
        return new ConsoleSettings(
                OptionValues.redirects(
                        settings.text(LaunchOption.REDIRECTS, "0"), settings.name(LaunchOption.REDIRECTS)),
                OptionValues.tee(settings.text(LaunchOption.TEE, "0"), settings.name(LaunchOption.TEE)),
                ranks(LaunchOption.LOCAL_RANKS_FILTER),
                ranks(LaunchOption.RANKS_FILTER),
                prefixed && !settings.isOn(LaunchOption.NO_PREFIX),
                settings.get(LaunchOption.LOG_LINE_PREFIX_TEMPLATE).map(ResolvedOptions.Setting::last),
                terminals());
    }

    /** With --json, stdout is for the JSON, and the stdout of workers goes to stderr. */
    private TerminalStreams terminals() {
        TerminalStreams found = commandContext.terminals();
        return settings.isOn(LaunchOption.JSON) ? new TerminalStreams(found.stderr(), found.stderr()) : found;
    }

    private Optional<Set<Integer>> ranks(LaunchOption option) {
        return settings.get(option).map(setting -> OptionValues.ranks(setting.last(), settings.name(option)));
    }

    private StopPolicy stopPolicy() {
        int restarts = OptionValues.count(
                settings.text(LaunchOption.MAX_RESTARTS, "0"),
                settings.name(LaunchOption.MAX_RESTARTS),
                0,
                Integer.MAX_VALUE);
        Duration grace = OptionValues.time(
                settings.text(LaunchOption.SHUTDOWN_TIMEOUT, DEFAULT_GRACE),
                settings.name(LaunchOption.SHUTDOWN_TIMEOUT));
        return new StopPolicy(
                restarts,
                grace,
                signals(
                        settings.text(LaunchOption.SIGNALS_TO_HANDLE, DEFAULT_SIGNALS),
                        settings.name(LaunchOption.SIGNALS_TO_HANDLE)));
    }

    private LivenessSettings liveness() {
        return new LivenessSettings(
                timeout(LaunchOption.WORKER_TIMEOUT, "300"), timeout(LaunchOption.PROGRESS_TIMEOUT, "0"));
    }

    /** A time from a second up; 0: never. */
    private Optional<Duration> timeout(LaunchOption option, String byDefault) {
        Duration time = OptionValues.time(settings.text(option, byDefault), settings.name(option));
        return time.isZero() ? Optional.empty() : Optional.of(time);
    }

    static Set<StopSignal> signals(String text, String name) {
        Set<StopSignal> signals = EnumSet.noneOf(StopSignal.class);
        for (String part : text.split(",", -1)) {
            if (part.strip().equals("SIGQUIT") || part.strip().equals("QUIT")) {
                continue; // QUIT is in torchrun's default; a JVM prints its threads at QUIT and accepts no handler
            }
            signals.add(StopSignal.of(part)
                    .orElseThrow(() -> OptionValues.refused(name, part, "some of " + DEFAULT_SIGNALS)));
        }
        if (signals.isEmpty()) {
            throw new UsageException(
                    name + ": SIGQUIT alone cannot be handled, since a JVM prints its threads on it and takes no"
                            + " handler. Give some of " + DEFAULT_SIGNALS + " too.");
        }
        return signals;
    }

    private Duration positiveTime(LaunchOption option) {
        Duration time = OptionValues.time(settings.text(option, ""), settings.name(option));
        if (time.isZero()) {
            throw OptionValues.refused(settings.name(option), settings.text(option, ""), "more than 0");
        }
        return time;
    }
}
