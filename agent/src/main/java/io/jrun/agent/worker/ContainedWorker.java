package io.jrun.agent.worker;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.HostFolder;
import io.jrun.agent.container.HostFolder.Access;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.node.UserId;
import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.WorkerSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Makes the command and the environment of a worker that runs in a container. The worker's files of the node (the
 * program, its class path, jrun's runtime, the log folder, the agent's socket) are mounted under their own paths, so
 * each path is the same inside and outside the container.
 */
public final class ContainedWorker {
    private static final String HOME = "HOME";

    /**
     * Variables that are set only inside the container, because the node's programs that enter the container load
     * libraries too.
     */
    private static final List<String> LATE = List.of("LD_LIBRARY_PATH", "LD_PRELOAD");

    /**
     * Keeps the variables of the worker in a file of the worker's own /run, and starts the entrypoint without the hidden
     * variables. Without a log the output of the entrypoint is discarded, and the program gets the streams back.
     */
    private static final String HIDE = """
            hidden=$1 log=$2 restore=$3
            shift 3
            (umask 077 && export -p > /run/jrun-environment) || exit 125
            unset $hidden
            exec 8>&1 9>&2
            [ "$log" = loud ] || exec >/dev/null 2>&1
            exec /bin/sh /etc/rc /bin/sh -c "$restore" jrun-program "$@"
            """;

    private static final String QUIET = "quiet";
    private static final String LOUD = "loud";

    /** The second text has the variables of the entrypoint, which replace variables of the first text. */
    private static final String RESTORE = """
            own=$(export -p)
            . /run/jrun-environment && rm /run/jrun-environment || exit 125
            eval "$own"
            exec "$@" >&8 2>&9 8>&- 9>&-
            """;

    /** Variables that the entrypoint always gets, and variables that bash does not unset. */
    private static final List<String> OF_ENTRYPOINT =
            List.of("PATH", HOME, "TERM", "UID", "EUID", "PPID", "SHELLOPTS", "BASHOPTS");

    /** Names that a shell can set. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private static final String ALL_JARS = "/*";

    private final NodeContainers containers;
    private final ContainerSpec spec;
    private final LaunchContext context;

    /** Workers of one job on one node. */
    public ContainedWorker(NodeContainers containers, ContainerSpec spec, LaunchContext context) {
        this.containers = containers;
        this.spec = spec;
        this.context = context;
    }

    /**
     * The command, environment and folders of one worker.
     *
     * @param id a file name that no other worker of the job has on this node
     * @throws ContainerException if a file of the worker exists neither on the node nor inside
     */
    public WorkerPlan plan(LaunchRound launch, WorkerSpec worker, long mark, String id) throws ContainerException {
        LaunchRound inside = onNode(launch);
        LaunchContext seen = new LaunchContext(
                context.node(), context.options(), context.runId(), context.runLogDir(), context.socket(), inherited());
        Map<String, String> environment = new HashMap<>(WorkerEnvironmentBuilder.compose(inside, worker, seen));
        Map<String, String> late = new HashMap<>();
        for (String name : LATE) {
            String value = environment.remove(name);
            if (value != null) {
                late.put(name, value);
            }
        }
        environment.putIfAbsent("PATH", ContainerEnvironment.PATH);
        OptionalLong token = containers.hasOwnPids()
                ? OptionalLong.of(ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE))
                : OptionalLong.empty();
        token.ifPresent(value -> environment.put("JRUN_WORKER_TOKEN", Long.toString(value)));
        List<String> program = new ArrayList<>(entrypoint(environment.keySet(), late.keySet()));
        program.addAll(WorkerCommand.program(inside, worker, seen));
        WorkerRequest request = new WorkerRequest(id, workdir(launch), environment, late, program);
        List<String> command = new ArrayList<>(WorkerCommand.binding(launch, worker, context));
        command.addAll(containers.command(request));
        return new WorkerPlan(
                worker.getRank(),
                command,
                environment,
                Path.of("/"),
                List.of(),
                context.rankLogDir(launch, worker.getRank()),
                mark,
                JvmDefaults.addsVectorModule(launch),
                token,
                spec.remapRoot() && UserId.ofThisProcess() != 0);
    }

    /** One line about variables that have several values, see {@link ContainerEnvironment#conflicts}. */
    public Optional<String> environmentConflicts(LaunchRound launch) {
        Optional<String> conflicts =
                environment().conflicts(context.inherited(), WorkerEnvironmentBuilder.chosen(launch));
        Optional<String> lost = lost();
        return lost.isEmpty()
                ? conflicts
                : Optional.of(conflicts.map(text -> text + "; ").orElse("") + lost.get());
    }

    /** The variables that another engine drops or changes: these engines know text alone, and some know few names. */
    private Optional<String> lost() {
        if (spec.engine() == EngineChoice.AUTO || spec.engine() == EngineChoice.BUILTIN) {
            return Optional.empty();
        }
        boolean takesAllNames = spec.engine() == EngineChoice.PODMAN;
        String names = context.inherited().entrySet().stream()
                .filter(variable -> (variable.getKey() + variable.getValue()).indexOf(ExactExecutor.REPLACEMENT) >= 0
                        || !(takesAllNames || variable.getKey().matches("[A-Za-z_][A-Za-z0-9_]*")))
                .map(Map.Entry::getKey)
                .sorted()
                .collect(Collectors.joining(", "));
        return names.isEmpty()
                ? Optional.empty()
                : Optional.of(spec.engine().word() + " does not hand on as they are: " + names
                        + " (the engine builtin does)");
    }

    /** Root inside has the home folder of root, unless the image or --container-env says otherwise. */
    private Map<String, String> inherited() {
        Map<String, String> inherited = environment().over(context.inherited());
        if (spec.remapRoot()
                && !containers.image().environment().containsKey(HOME)
                && !spec.environment().contains(HOME)) {
            inherited.put(HOME, "/root");
        }
        return inherited;
    }

    private ContainerEnvironment environment() {
        return new ContainerEnvironment(containers.image().environment(), spec.environment());
    }

    /**
     * The words before the program. The entrypoint gets the variables of the image and of --container-env, as in Pyxis.
     * The program gets all variables of the worker; the entrypoint's own values replace them.
     */
    private List<String> entrypoint(Set<String> environment, Set<String> late) throws ContainerException {
        if (!spec.entrypoint()) {
            return List.of();
        }
        if (!containers.image().hasEntrypoint()) {
            throw new ContainerException(
                    "--container-entrypoint: the image has no entrypoint (no /etc/rc); omit the option");
        }
        Set<String> hidden = new TreeSet<>(environment);
        hidden.addAll(late);
        hidden.removeAll(containers.image().environment().keySet());
        hidden.removeAll(spec.environment());
        hidden.removeAll(OF_ENTRYPOINT);
        hidden.removeIf(name -> !NAME.matcher(name).matches());
        return List.of(
                "/bin/sh",
                "-c",
                HIDE,
                "jrun-entrypoint",
                String.join(" ", hidden),
                spec.entrypointLog() ? LOUD : QUIET,
                RESTORE);
    }

    /** Mounts the files that the launch names. Returns the launch with the paths of the program inside. */
    private LaunchRound onNode(LaunchRound launch) throws ContainerException {
        containers.add(new HostFolder(context.runLogDir(), Access.WRITE));
        containers.add(new HostFolder(context.socket(), Access.READ));
        LaunchRound.Builder inside = launch.toBuilder();
        if (launch.getProgram().hasExecutable()) {
            needExecutable(launch.getProgram().getExecutable().getPath(), Path.of(launch.getWorkingDir()));
        } else {
            inside.getProgramBuilder().setJava(java(launch.getProgram().getJava()));
        }
        return inside.build();
    }

    private JavaProgramSpec java(JavaProgramSpec program) throws ContainerException {
        for (Path jar : context.options().runtimeClassPath()) {
            // The whole folder needs one mount.
            containers.add(new HostFolder(jar.resolve("..").normalize(), Access.READ));
        }
        int user = UserId.ofThisProcess();
        NativeLibraries natives = NativeLibraries.of(context.options().runtimeClassPath(), user, context.inherited());
        if (natives.isOwn()) {
            Path inside = NativeLibraries.folderOf(isRootInside() ? 0 : user);
            containers.add(new HostFolder(natives.folder(), inside, Access.WRITE_COPY));
        }
        if (natives.cuda().isPresent()) {
            containers.add(
                    new HostFolder(natives.cuda().get().resolveSibling("").normalize(), Access.READ));
        }
        if (context.options().workerArchive().filter(Files::isRegularFile).isPresent()) {
            containers.add(new HostFolder(context.options().workerArchive().get(), Access.READ));
        }
        for (String entry : program.getClassPathList()) {
            need(entry.endsWith(ALL_JARS) ? entry.substring(0, entry.length() - ALL_JARS.length()) : entry);
        }
        JavaProgramSpec.Builder inside = program.toBuilder();
        natives.cuda().ifPresent(jar -> inside.addJvmOptions("-D" + CudaArchiveFile.PROPERTY + "=" + jar));
        inside.setJavaHome(new ContainerJava(containers, spec.java()).home(program.getJavaHome()));
        if (program.getMainClass().isEmpty()) {
            inside.setMainClass(ContainerJava.mainClass(containers, program.getClassPath(0)));
        }
        return inside.build();
    }

    private boolean isRootInside() {
        return spec.remapRoot() || spec.engine() == EngineChoice.PODMAN;
    }

    /**
     * Mounts a program of the node only if it lies below the job's folder. Other programs, as /usr/bin/python3, are the
     * image's.
     */
    private void needExecutable(String path, Path jobFolder) throws ContainerException {
        if (path.startsWith("/")
                && Path.of(path).startsWith(jobFolder)
                && containers.find(path).isEmpty()) {
            need(path);
        }
    }

    /** Mounts a path that the node has. A path that the node lacks must be in the image or in a mount of the user. */
    private void need(String path) throws ContainerException {
        if (Files.exists(Path.of(path))) {
            containers.add(new HostFolder(Path.of(path), Access.READ));
        } else if (containers.find(path).isEmpty()) {
            throw new ContainerException(
                    path + " exists neither on this node nor inside the container; mount its folder with "
                            + "--container-mounts, or name a file of the image");
        }
    }

    /**
     * The folder of --container-workdir, else the image's working folder, else the job's folder if the folder is
     * mounted, else /.
     */
    private String workdir(LaunchRound launch) throws ContainerException {
        if (!spec.workdir().isEmpty()) {
            return spec.workdir();
        }
        if (!containers.image().workdir().isEmpty()) {
            return containers.image().workdir();
        }
        Optional<Path> inside = containers.find(launch.getWorkingDir());
        return inside.isPresent() && isSame(inside.get(), Path.of(launch.getWorkingDir()))
                ? launch.getWorkingDir()
                : "/";
    }

    /** The container may have another folder with the path, such as its own /tmp. */
    private static boolean isSame(Path one, Path other) {
        try {
            return Files.isDirectory(one) && Files.isSameFile(one, other);
        } catch (IOException e) {
            return false; // The node has no such folder.
        }
    }
}
