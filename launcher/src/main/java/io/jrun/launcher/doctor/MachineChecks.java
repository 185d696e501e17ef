package io.jrun.launcher.doctor;

import io.jrun.agent.node.Node;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The machine itself. */
final class MachineChecks {
    private static final int NEWEST_NEEDED = 25;

    /** Registered memory lives there: a few hundred megabytes of gradients for each of some ranks. */
    private static final long SHARED_MEMORY_BYTES = 1L << 30;

    /** A rank has a connection to each other rank, and each class path entry is a file. */
    private static final long FILES = 1024;

    private static final Pattern OPEN_FILES = Pattern.compile("Max open files +(\\S+)");

    private MachineChecks() {}

    static List<Finding> jrun(String version, Path home) {
        return List.of(Finding.ok("jrun", version + " in " + home));
    }

    static List<Finding> jdk() {
        int version = Runtime.version().feature();
        String text = "Java " + Runtime.version() + " in " + System.getProperty("java.home");
        return List.of(
                version >= NEWEST_NEEDED
                        ? Finding.ok("jdk", text)
                        : Finding.problem("jdk", text + "; jrun needs " + NEWEST_NEEDED + ": set JRUN_JAVA_HOME"));
    }

    /** @param directory /dev/shm */
    static List<Finding> sharedMemory(Path directory) throws IOException {
        if (!Files.isWritable(directory)) {
            return List.of(sharedMemory(directory.toString(), -1, 0));
        }
        FileStore store = Files.getFileStore(directory);
        return List.of(sharedMemory(directory.toString(), store.getUsableSpace(), store.getTotalSpace()));
    }

    /** @param free -1 where nothing can be written */
    static Finding sharedMemory(String what, long free, long total) {
        if (free < 0) {
            return Finding.problem(
                    what,
                    "not writable; ranks of one node move data through it. Mount a tmpfs there, or JRUN_TRANSPORT=tcp");
        }
        String text = megabytes(free) + " MiB free of " + megabytes(total);
        return free >= SHARED_MEMORY_BYTES
                ? Finding.ok(what, text)
                : Finding.problem(
                        what,
                        text
                                + "; registered memory needs more: mount -o remount,size=50% /dev/shm (containers: --shm-size)");
    }

    static List<Finding> cores(Node node) {
        return List.of(Finding.ok("cores", node.cores() + " usable, " + megabytes(node.memoryBytes()) + " MiB memory"));
    }

    static List<Finding> gpus(Node node) {
        if (node.gpus().isEmpty()) {
            return List.of(
                    Finding.absent(
                            "gpus",
                            "none visible (no /dev/nvidia*, or nvidia-smi does not answer); --nproc-per-node=gpu will not work"));
        }
        return List.of(Finding.ok("gpus", node.gpus().size() + " visible: " + String.join(", ", node.gpus())));
    }

    /** @param limits /proc/self/limits */
    static List<Finding> openFiles(Path limits) throws IOException {
        Matcher line = OPEN_FILES.matcher(Files.readString(limits));
        return List.of(openFiles("open files", line.find() ? line.group(1) : ""));
    }

    /** @param limit a number, "unlimited", or empty if unknown */
    static Finding openFiles(String what, String limit) {
        if (limit.isEmpty()) {
            return Finding.absent(what, "no limit is known");
        }
        boolean enough = limit.equals("unlimited") || Long.parseLong(limit) >= FILES;
        return enough
                ? Finding.ok(what, "at most " + limit + " in a process")
                : Finding.problem(what, "at most " + limit + " in a process; raise it: ulimit -n 65536");
    }

    /**
     * What each worker is started through.
     *
     * @param missing empty if nothing is
     */
    static Finding startTools(String what, String versions, String missing) {
        return missing.isEmpty() ? Finding.ok(what, versions) : Finding.problem(what, missing);
    }

    /** What starts jobs elsewhere. */
    static List<Finding> tools(Map<String, String> environment) {
        String job = environment.getOrDefault("SLURM_JOB_ID", "");
        return List.of(
                tool("ssh", "ssh", "", environment),
                tool("slurm", "srun", job.isEmpty() ? "" : ", inside job " + job, environment));
    }

    private static Finding tool(String what, String command, String more, Map<String, String> environment) {
        return Arrays.stream(environment.getOrDefault("PATH", "").split(":", -1))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, command))
                .filter(Files::isExecutable)
                .findFirst()
                .map(found -> Finding.ok(what, found + more))
                .orElseGet(() -> Finding.absent(what, "no '" + command + "' on the PATH"));
    }

    private static long megabytes(long bytes) {
        return bytes >> 20;
    }
}
