package io.jrun.launcher.jobs;

import io.jrun.launcher.process.NamespaceOwner;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The processes of workers on this host, known by their environment. Stateless. */
final class WorkerProcesses {
    private static final Path PROC = Path.of("/proc");

    /** The namespaces in which a process may differ from this one, and nsenter's option for each. */
    private static final Map<String, String> NAMESPACES =
            Map.of("user", "--user", "mnt", "--mount", "pid", "--pid", "net", "--net", "ipc", "--ipc", "uts", "--uts");

    /**
     * A worker.
     *
     * @param entries nsenter's options for the namespaces of the worker that this process is not in
     */
    record WorkerProcess(long pid, Map<String, String> environment, List<String> entries) {
        /**
         * The user namespace that owns the mounts of the process, if the process is in another one. A container of an
         * ordinary user has two: one to make the mounts, and one with the user's own id.
         */
        Optional<Path> ownerOfMounts() {
            if (!entries.contains("--user") || !entries.contains("--mount")) {
                return Optional.empty();
            }
            return NamespaceOwner.of(PROC.resolve(pid + "/ns/mnt")).filter(owner -> {
                try {
                    return !Files.isSameFile(owner, PROC.resolve(pid + "/ns/user"));
                } catch (IOException e) {
                    return false;
                }
            });
        }

        /** Whether the root folder of the process is another one, as in a container. */
        boolean hasOwnRoot() {
            try {
                return !Files.isSameFile(PROC.resolve(pid + "/root/."), Path.of("/"));
            } catch (IOException e) {
                return false; // already gone
            }
        }
    }

    private WorkerProcesses() {}

    /**
     * The worker of a job: the oldest process of the rank. If a process of the rank is in a container, the oldest one
     * in the container, because the processes that make the container have the variables of the rank too.
     */
    static Optional<WorkerProcess> find(String runId, int rank) {
        return ProcessHandle.allProcesses()
                .map(process -> environment(process.pid())
                        .filter(variables -> runId.equals(variables.get("JRUN_RUN_ID"))
                                && Integer.toString(rank).equals(variables.get("RANK")))
                        .map(variables -> new WorkerProcess(process.pid(), variables, entries(process.pid()))))
                .flatMap(Optional::stream)
                .min(Comparator.comparing((WorkerProcess worker) -> !worker.hasOwnRoot())
                        .thenComparing(worker -> ProcessHandle.of(worker.pid())
                                .flatMap(process -> process.info().startInstant())
                                .map(Object::toString)
                                .orElse("~")));
    }

    /** The variables of a process at its start; empty for a process of another user. */
    private static Optional<Map<String, String>> environment(long pid) {
        Map<String, String> variables = new HashMap<>();
        try {
            String text = Files.readString(PROC.resolve(pid + "/environ"), StandardCharsets.ISO_8859_1);
            for (String entry : text.split("\0", -1)) {
                int equals = entry.indexOf('=', 1);
                if (equals > 0) {
                    byte[] value = entry.substring(equals + 1).getBytes(StandardCharsets.ISO_8859_1);
                    variables.put(entry.substring(0, equals), new String(value, StandardCharsets.UTF_8));
                }
            }
            return Optional.of(variables);
        } catch (IOException e) {
            return Optional.empty(); // of another user, or already gone
        }
    }

    private static List<String> entries(long pid) {
        return NAMESPACES.entrySet().stream()
                .filter(namespace -> isElsewhere(pid, namespace.getKey()))
                .map(Map.Entry::getValue)
                .sorted()
                .toList();
    }

    private static boolean isElsewhere(long pid, String namespace) {
        try {
            Path own = Files.readSymbolicLink(PROC.resolve("self/ns/" + namespace));
            return !own.equals(Files.readSymbolicLink(PROC.resolve(pid + "/ns/" + namespace)));
        } catch (IOException e) {
            return false;
        }
    }
}
