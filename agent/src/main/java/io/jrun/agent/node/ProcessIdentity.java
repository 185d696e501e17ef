package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The identity of a process, which differs from all other processes with the same pid.
 *
 * @param host name of the machine
 * @param boot id of the machine's current boot
 * @param startTicks start time on the kernel's clock
 */
public record ProcessIdentity(String host, long pid, String boot, long startTicks) {
    private static final Path PROC = Path.of("/proc");
    private static final Path HOST = Path.of("/proc/sys/kernel/hostname");
    private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");

    /**
     * The index of field 22 of /proc/PID/stat, counted from the third field, which follows the name in brackets.
     * Source: proc(5).
     */
    private static final int START_TICKS = 19;

    /** This process. */
    public static ProcessIdentity current() {
        return of(ProcessHandle.current().pid());
    }

    /** The process with this pid on this machine. The identity is not alive if there is no such process. */
    public static ProcessIdentity of(long pid) {
        return new ProcessIdentity(text(HOST), pid, text(BOOT), startTicks(pid));
    }

    /** Whether the process belongs to this machine. Only then does {@link #isAlive} know the answer. */
    public boolean isOnThisMachine() {
        return host.equals(text(HOST));
    }

    /** Whether the process runs, on this machine. */
    public boolean isAlive() {
        return boot.equals(text(BOOT)) && startTicks >= 0 && startTicks == startTicks(pid);
    }

    /** Returns the start time, or -1 if there is no such process. */
    private static long startTicks(long pid) {
        String stat = text(PROC.resolve(Long.toString(pid)).resolve("stat"));
        int name = stat.lastIndexOf(')');
        if (name < 0 || stat.startsWith(") Z", name)) {
            return -1;
        }
        return Long.parseLong(stat.substring(name + 2).split(" ", -1)[START_TICKS]);
    }

    private static String text(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return ""; // the process is gone, or this /proc has no such file
        }
    }
}
