package io.jrun.launcher.cli;

import io.jrun.agent.LauncherAddress;
import io.jrun.launcher.cli.ResolvedOptions.Setting;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerCount;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * Checks the form of the value of every option, also of an option that has no effect in this job. Other classes check
 * whether the value fits the job. Stateless.
 */
final class OptionForm {
    private static final String MLFLOW = "mlflow:";
    private static final int MOST_NODES = 65_536;
    private static final int MAX_PORT = 65_535;
    private static final String LOOPBACK = "127.0.0.1";

    /** A class name as the {@code java} command accepts it. The command takes any other text for an option. */
    private static final Pattern CLASS_NAME =
            Pattern.compile("\\p{javaJavaIdentifierStart}[\\p{javaJavaIdentifierPart}./]*");

    private OptionForm() {}

    /** @throws UsageException if a value does not have the form of its option */
    static void check(LaunchOption option, Setting setting) {
        String name = setting.name();
        for (String text : setting.values()) { // check all values, also those that a later value replaces
            check(option, text, name);
        }
    }

    private static void check(LaunchOption option, String text, String name) {
        switch (option) {
            case BACKEND -> refuseMpi(text, name);
            case NPROC_PER_NODE -> PlacementOptions.workerCount(text, name);
            case NTASKS -> OptionValues.count(text, name, 1, WorkerCount.MAX_OF_JOB);
            case MAP_BY -> PlacementOptions.perNode(text, name);
            case HOSTS -> ClusterReader.hosts(text, name);
            case INCLUDE, EXCLUDE -> PlacementOptions.choice(text, name);
            case SIGNALS_TO_HANDLE -> JobSpecBuilder.signals(text, name);
            case NNODES -> NodeOptions.checkForm(text, name);
            case SPARES -> OptionValues.count(text, name, 0, MOST_NODES);
            case NODE_RANK -> OptionValues.count(text, name, 0, MOST_NODES - 1);
            case MAX_RESTARTS -> OptionValues.count(text, name, 0, Integer.MAX_VALUE);
            case AGENT_PORT -> OptionValues.count(text, name, 1, MAX_PORT);
            case METRICS_PORT -> metricsAddress(text, name);
            case TRACK -> mlflow(text, name);
            case MASTER_PORT -> OptionValues.count(text, name, 0, MAX_PORT);
            case JOIN_TIMEOUT, NODE_COOLDOWN, RESTART_WINDOW, TIMEOUT, SHUTDOWN_TIMEOUT, MONITOR_INTERVAL ->
                OptionValues.time(text, name);
            case WORKER_TIMEOUT, PROGRESS_TIMEOUT -> checkSilence(text, name);
            case LOG_LIMIT -> OptionValues.logLimit(text, name);
            case REDIRECTS -> OptionValues.redirects(text, name);
            case TEE -> OptionValues.tee(text, name);
            case STDIN -> OptionValues.stdin(text, name);
            case NUMA_BINDING -> PlacementOptions.numaBinding(text, name);
            case EVENT_LOG_HANDLER ->
                checkDefault(
                        text,
                        "null",
                        name,
                        "leave it out: --json prints the result, and docs/job-events.md names the events");
            case LOGS_SPECS -> checkDefault(text, "default", name, "leave it out: files go to --log-dir");
            case LOCAL_RANKS_FILTER, RANKS_FILTER -> OptionValues.ranks(text, name);
            case RDZV_ENDPOINT -> {
                if (!text.isEmpty()) { // the default of torchrun is an empty text
                    HostAndPort.parse(text, name, OptionalInt.of(0));
                }
            }
            case MASTER_ADDR -> HostAndPort.host(text, name);
            case LOCAL_ADDR -> {
                if (!text.isEmpty()) {
                    HostAndPort.checkHost(text, text, name);
                }
            }
            case RDZV_CONF -> RendezvousOptionsReader.conf(text, name);
            case RUN_ID -> RunId.check(text, name);
            case RDZV_ID, ROLE -> checkVisible(text, name);
            case FILE, HOSTFILE, SECRET_FILE, JAVA, WORKDIR, STAGE, LOG_DIR, REMOTE_JRUN, CONTAINER_SAVE, REPORT ->
                checkPath(text, name);
            case SSH_OPTIONS -> checkWords(text, name, "-", "options for ssh, which begin with a dash");
            case JVM_OPTS -> OptionValues.shellWords(text, name);
            case MAIN_CLASS -> {
                if (!CLASS_NAME.matcher(text).matches()) {
                    throw OptionValues.refused(name, text, "the name of a class, as app.Train");
                }
            }
            case STANDALONE,
                    ENCRYPT,
                    MODULE,
                    RUN_PATH,
                    NO_JAVA,
                    NO_PREFIX,
                    VIRTUAL_LOCAL_RANK,
                    JSON,
                    TRACE,
                    DETACH,
                    DRY_RUN,
                    CONTAINER_MOUNT_HOME,
                    NO_CONTAINER_MOUNT_HOME,
                    CONTAINER_REMAP_ROOT,
                    NO_CONTAINER_REMAP_ROOT,
                    CONTAINER_WRITABLE,
                    CONTAINER_READONLY,
                    CONTAINER_ENTRYPOINT,
                    CONTAINER_ENTRYPOINT_LOG,
                    NO_CONTAINER_ENTRYPOINT -> OptionValues.isTrue(text, name);
            case CONTAINER_IMAGE,
                    CONTAINER_MOUNTS,
                    CONTAINER_WORKDIR,
                    CONTAINER_NAME,
                    CONTAINER_ENV,
                    CONTAINER_UNSHARE -> ContainerOptions.checkForm(option, text, name);
            case LAUNCH,
                    BLAS,
                    BIND_TO,
                    START_METHOD,
                    GPU_VISIBILITY,
                    RDZV_BACKEND,
                    CONTAINER_RUNTIME,
                    CONTAINER_JAVA -> {
                // the test of the choices below checks the value
            }
            case CLASSPATH, ENV, LOG_LINE_PREFIX_TEMPLATE -> {
                // every job reads all values of these lists; a prefix may be any text
            }
        }
        if (!option.choices().isEmpty() && !option.choices().contains(text)) {
            throw OptionValues.refused(name, text, alternatives(option.choices()));
        }
    }

    /** The address of the metrics endpoint. An address without a host is the loopback interface. */
    static LauncherAddress metricsAddress(String text, String name) {
        boolean isPort = text.indexOf(':') < 0;
        return isPort
                ? new LauncherAddress(LOOPBACK, OptionValues.count(text, name, 0, MAX_PORT))
                : HostAndPort.parse(text, name, OptionalInt.empty());
    }

    /** The address of an MLflow server. */
    static URI mlflow(String text, String name) {
        try {
            if (text.startsWith(MLFLOW)) {
                URI server = new URI(text.substring(MLFLOW.length()));
                boolean isWeb = "http".equals(server.getScheme()) || "https".equals(server.getScheme());
                if (isWeb && server.getHost() != null) {
                    return server;
                }
            }
        } catch (URISyntaxException e) {
            // the error below
        }
        throw OptionValues.refused(name, text, "the address of an MLflow server, as mlflow:http://host:5000");
    }

    private static String alternatives(List<String> words) {
        return String.join(", ", words.subList(0, words.size() - 1)) + " or " + words.getLast();
    }

    private static void refuseMpi(String text, String name) {
        if (text.equals("mpi")) {
            throw new UsageException(
                    name + ": mpi works only in ranks that MPI has started: JRUN_BACKEND=mpi mpirun -n 2"
                            + " java ..., or 'jrun bench --backend mpi'.");
        }
    }

    private static void checkDefault(String text, String standard, String name, String advice) {
        if (!text.isEmpty() && !text.equals(standard)) {
            throw new UsageException(
                    name + ": '" + text + "' is Python code, which jrun does not run; " + advice + ".");
        }
    }

    private static void checkSilence(String text, String name) {
        Duration time = OptionValues.time(text, name);
        if (!time.isZero() && time.compareTo(Duration.ofSeconds(1)) < 0) {
            throw OptionValues.refused(name, text, "0 for never, or 1 s and more");
        }
    }

    /** Accepts an empty text, which is the default of torchrun. */
    private static void checkVisible(String text, String name) {
        if ((!text.isEmpty() && text.isBlank()) || text.chars().anyMatch(Character::isISOControl)) {
            throw OptionValues.refused(name, text, "visible characters");
        }
    }

    /** Refuses an empty path, which usually comes from an unset shell variable. */
    private static void checkPath(String text, String name) {
        if (text.isBlank()) {
            throw OptionValues.refused(name, text, "a path");
        }
    }

    private static void checkWords(String text, String name, String first, String expected) {
        List<String> words = OptionValues.shellWords(text, name);
        if (!words.isEmpty() && !words.getFirst().startsWith(first)) {
            throw OptionValues.refused(name, text, expected);
        }
    }
}
