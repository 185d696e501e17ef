package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.TransportKind;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.collective.TuningTable;
import io.jrun.comm.cuda.GpuDirectStorage;
import io.jrun.comm.cuda.VisibleGpus;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.comm.group.RankFiles;
import io.jrun.comm.tcp.TcpOptions;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The environment variables that an agent sets for its worker.
 *
 * @param agentSocket path of the agent's unix-domain socket
 * @param round round of the rendezvous
 * @param files the files of this rank
 * @param nodeCores number of cores of the node that its ranks may use together
 * @param processIdentity the token of a worker whose PID namespace is not the agent's, else the pid
 */
record WorkerEnvironment(
        WorldIdentity identity,
        Path agentSocket,
        int round,
        TransportKind transport,
        TcpOptions tcpOptions,
        GroupOptions groupOptions,
        Optional<RankFiles> files,
        int nodeCores,
        long processIdentity) {

    /**
     * Reads the variables. Returns null if no agent has started this process and none is needed.
     *
     * @throws CommException USAGE if a variable is missing or malformed, or if another launcher started several ranks
     */
    static @Nullable WorkerEnvironment of(Map<String, String> variables) {
        Reader reader = new Reader(variables);
        String socket = variables.getOrDefault("JRUN_AGENT_SOCKET", "");
        if (socket.isEmpty()) {
            reader.refuseForeignLauncher();
            return null;
        }
        WorldIdentity identity = new WorldIdentity(
                reader.number("RANK"),
                reader.number("WORLD_SIZE"),
                reader.number("LOCAL_RANK"),
                reader.number("LOCAL_WORLD_SIZE"),
                reader.number("GROUP_RANK"),
                reader.number("GROUP_WORLD_SIZE"),
                variables.getOrDefault("JRUN_HOST", "localhost"),
                reader.text("JRUN_RUN_ID"),
                reader.number("TORCHELASTIC_RESTART_COUNT"),
                VisibleGpus.of(variables).deviceOf(reader.number("LOCAL_RANK")));
        reader.checkGpuDirectStorage();
        return new WorkerEnvironment(
                identity,
                Path.of(socket),
                reader.number("JRUN_ROUND"),
                reader.transport(),
                reader.tcpOptions(),
                reader.groupOptions(),
                Optional.of(variables.getOrDefault("JRUN_LOG_DIR", ""))
                        .filter(folder -> !folder.isEmpty())
                        .map(folder -> new RankFiles(
                                Path.of(folder),
                                variables.getOrDefault("JRUN_TIMELINE", "").equals("whole"))),
                variables.containsKey("JRUN_NODE_CORES")
                        ? reader.number("JRUN_NODE_CORES")
                        : WorldContext.usableCores(),
                variables.containsKey("JRUN_WORKER_TOKEN")
                        ? reader.token()
                        : ProcessHandle.current().pid());
    }

    /** Reads single variables. */
    record Reader(Map<String, String> variables) {
        void refuseForeignLauncher() {
            String size = variables.getOrDefault("WORLD_SIZE", "1").strip();
            if (!size.equals("1") && !size.isEmpty()) {
                throw new CommException(
                        ErrorCode.USAGE,
                        "WORLD_SIZE is " + size + " but JRUN_AGENT_SOCKET is not set: this process was started by "
                                + "something other than jrun (torchrun, srun?). Start it with: jrun --nproc-per-node="
                                + size + " PROGRAM, or unset WORLD_SIZE to run alone.");
            }
        }

        String text(String name) {
            String value = variables.get(name);
            if (value == null || value.isEmpty()) {
                throw new CommException(
                        ErrorCode.USAGE,
                        name + " is not set although JRUN_AGENT_SOCKET is set. Start workers with jrun.");
            }
            return value;
        }

        private boolean isSet(String name) {
            return !variables.getOrDefault(name, "").isEmpty();
        }

        int number(String name) {
            String value = text(name);
            try {
                return Integer.parseInt(value);
            } catch (NumberFormatException e) {
                throw new CommException(ErrorCode.USAGE, name + " is '" + value + "' (expected a whole number)", e);
            }
        }

        long token() {
            try {
                return Long.parseLong(text("JRUN_WORKER_TOKEN"));
            } catch (NumberFormatException e) {
                throw new CommException(ErrorCode.USAGE, "JRUN_WORKER_TOKEN is no number", e);
            }
        }

        TransportKind transport() {
            String value = variables.getOrDefault("JRUN_TRANSPORT", "auto");
            return switch (value.toLowerCase(Locale.ROOT)) {
                case "auto", "" -> TransportKind.AUTO;
                case "shm" -> TransportKind.SHM;
                case "tcp" -> TransportKind.TCP;
                default ->
                    throw new CommException(
                            ErrorCode.USAGE, "JRUN_TRANSPORT is '" + value + "' (expected auto, shm or tcp)");
            };
        }

        TcpOptions tcpOptions() {
            TcpOptions options = TcpOptions.DEFAULT.withSelector(algorithms()).withEncrypted(flag("JRUN_ENCRYPT"));
            if (isSet("JRUN_CONNECTIONS")) {
                options = options.withConnections(number("JRUN_CONNECTIONS"));
            }
            return isSet("JRUN_PIECE_BYTES") ? options.withPieceBytes(number("JRUN_PIECE_BYTES")) : options;
        }

        private boolean flag(String name) {
            String value = variables.getOrDefault(name, "0");
            return switch (value) {
                case "1" -> true;
                case "0", "" -> false;
                default -> throw new CommException(ErrorCode.USAGE, name + " is '" + value + "' (expected 0 or 1)");
            };
        }

        private AlgorithmSelector algorithms() {
            AlgorithmSelector selector = AlgorithmSelector.of(Optional.ofNullable(variables.get("JRUN_ALGORITHM")));
            String table = variables.getOrDefault("JRUN_TUNING", "");
            return table.isBlank() ? selector : selector.withTable(tuning(table));
        }

        /** A table has one line for each limit. */
        private static final int MAX_TABLE_BYTES = 1 << 20;

        private static TuningTable tuning(String path) {
            try {
                return TuningTable.parse(UserFile.text(Path.of(path), MAX_TABLE_BYTES), path);
            } catch (IOException | InvalidPathException e) {
                throw new CommException(
                        ErrorCode.USAGE,
                        "JRUN_TUNING: cannot read " + path + ": " + FileError.reason(e, path)
                                + ". The file must exist on every node; unset JRUN_TUNING for the built-in limits.",
                        e);
            }
        }

        void checkGpuDirectStorage() {
            String value = variables.getOrDefault(GpuDirectStorage.VARIABLE, "");
            if (!GpuDirectStorage.isSetting(value)) {
                throw new CommException(
                        ErrorCode.USAGE, GpuDirectStorage.VARIABLE + " is '" + value + "' (expected auto or off)");
            }
        }

        GroupOptions groupOptions() {
            GroupOptions options = GroupOptions.DEFAULT.withDeterministic(flag("JRUN_DETERMINISTIC"));
            String backend = variables.getOrDefault("JRUN_BACKEND", "");
            if (!backend.isEmpty()) {
                options = options.withBackend(backend);
            }
            if (options.backend().equals(GroupOptions.OWN_BACKEND) && flag("JRUN_ENCRYPT")) {
                options = options.withBackend(GroupOptions.OWN_DEVICE_PLANE); // NCCL sends plain text.
            }
            if (isSet("JRUN_TIMEOUT_SECONDS")) {
                options = options.withTimeout(Duration.ofSeconds(number("JRUN_TIMEOUT_SECONDS")));
            }
            return isSet("JRUN_LATE_WARNING_SECONDS")
                    ? options.withLateWarning(Duration.ofSeconds(number("JRUN_LATE_WARNING_SECONDS")))
                    : options;
        }
    }
}
