package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Describes in words the kernel's data of a process that does not answer. Source: proc(5). Stateless. */
public final class ProcessState {
    private static final String NOT_TRACED = "0";

    private ProcessState() {}

    /**
     * Returns one clause, such as {@code process 7 is stopped (state T): ...}.
     *
     * @param root the folder with {@code proc}
     */
    public static String describe(Path root, long pid) {
        Path folder = root.resolve("proc").resolve(Long.toString(pid));
        List<String> status = lines(folder.resolve("status"));
        String state = field(status, "State:");
        if (state.isEmpty()) {
            return "process " + pid + " is gone";
        }
        return "process " + pid + " " + words(folder, pid, state.charAt(0), field(status, "TracerPid:"));
    }

    private static String words(Path folder, long pid, char state, String tracer) {
        return switch (state) {
            case 'T' -> "is stopped (state T, as by SIGSTOP or Ctrl-Z). To continue the process: kill -CONT " + pid;
            case 't' -> "is held by a debugger" + (tracer.equals(NOT_TRACED) ? "" : ", process " + tracer);
            case 'D' ->
                "hangs in the kernel" + wchan(folder)
                        + ", mostly for a disk, a network file system or a device that does not answer (state D)";
            case 'Z', 'X' -> "has ended";
            case 'R' -> "runs (state R)";
            default -> "sleeps" + wchan(folder) + " (state " + state + ")";
        };
    }

    private static String wchan(Path folder) {
        List<String> lines = lines(folder.resolve("wchan"));
        return lines.isEmpty() || lines.getFirst().isEmpty() || lines.getFirst().equals("0")
                ? ""
                : " in " + lines.getFirst();
    }

    private static String field(List<String> status, String name) {
        return status.stream()
                .filter(line -> line.startsWith(name))
                .findFirst()
                .map(line -> line.substring(name.length()).strip())
                .orElse("");
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            return List.of(); // the process has ended, or belongs to another user
        }
    }
}
