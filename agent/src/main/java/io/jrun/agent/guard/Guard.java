package io.jrun.agent.guard;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A shell in a session of its own that reads commands from a pipe only this agent holds. When the pipe ends, however the
 * agent ended, the shell kills every process group it was told of with SIGKILL, removes the socket folder and exits.
 *
 * <p>It is also how the agent sends signals: the shell's built-in {@code kill} costs a write to a pipe, where a child
 * process costs milliseconds and a native call the start of the linker. Signals are therefore asynchronous, in order, and
 * go by number to groups the agent has not yet reaped. Thread-safe; nothing here waits except {@link #close}.
 */
public final class Guard implements AutoCloseable {
    /** After the pipe's end the shell has only kill(2) and one rm to do. */
    private static final long CLOSE_SECONDS = 5;

    /**
     * A worker becomes its group's leader a moment after it is forked; until then only its pid can be signalled, hence the
     * second kill. The shell ignores what a terminal or a batch system sends to everybody.
     *
     * <p>An agent may be killed between a fork and the word of it (seen under load: the worker ran already), and a worker's
     * child may have left the worker's group. Therefore, unless the agent said goodbye, the shell also looks for processes
     * that carry this agent's socket in their environment, and once more a second later for one that was just being forked.
     */
    private static final String SCRIPT = """
            trap '' HUP INT QUIT TERM PIPE USR1 USR2
            groups=' '
            orderly=
            while read -r verb group signal; do
              case $verb in
                add) groups="$groups$group " ;;
                del) case $groups in *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;; esac ;;
                group) kill -s "$signal" -- "-$group" || kill -s "$signal" "$group" ;;
                process) kill -s "$signal" "$group" ;;
                sweep) kill -s 9 -- "-$group" ;;
                bye) orderly=yes ;;
              esac
            done
            for group in $groups; do
              kill -s 9 -- "-$group" || kill -s 9 "$group"
            done
            [ "$orderly" ] || for pause in 0 1; do
              sleep "$pause"
              for file in $(grep -l -F -e "JRUN_AGENT_SOCKET=$1/" /proc/[0-9]*/environ); do
                process=${file#/proc/}
                kill -s 9 "${process%/environ}"
              done
            done
            rm -rf -- "$1"
            """;

    private final Process shell;
    private final OutputStream commands;
    private volatile boolean cutOff;

    private Guard(Process shell) {
        this.shell = shell;
        this.commands = shell.getOutputStream();
    }

    /**
     * Starts the shell.
     *
     * @param socketFolder removed when the agent has ended
     * @throws IOException if /bin/sh or setsid cannot be started
     */
    public static Guard start(Path socketFolder) throws IOException {
        return new Guard(new ProcessBuilder("setsid", "/bin/sh", "-c", SCRIPT, "jrun-guard", socketFolder.toString())
                .directory(Path.of("/").toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start());
    }

    /** From now on the group of this leader is killed when the agent ends. */
    public void add(long pid) {
        tell("add " + pid);
    }

    /** The leader is reaped: kills what is left of its group, then forgets it. */
    public void sweep(long pid) {
        tell("sweep " + pid + "\ndel " + pid);
    }

    /** Sends a signal to a whole process group. */
    public void signalGroup(long pid, int signal) {
        tell("group " + pid + " " + signal);
    }

    /** Sends a signal to one process. */
    public void signalProcess(long pid, int signal) {
        tell("process " + pid + " " + signal);
    }

    /** The shell's process id. */
    public long pid() {
        return shell.pid();
    }

    /** The job ends while its workers run: {@link #close} will leave as little of them as the agent's own death does. */
    public void cutOff() {
        cutOff = true;
    }

    /** Ends the pipe and waits, at most 5 s, until the shell has done its duty. */
    @Override
    public void close() {
        try {
            if (!cutOff) {
                tell("bye");
            }
            commands.close();
            if (!shell.waitFor(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                shell.destroyForcibly();
            }
        } catch (IOException e) {
            shell.destroyForcibly(); // it died before us; the workers carry a parent-death signal as well
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void tell(String command) {
        try {
            commands.write((command + "\n").getBytes(StandardCharsets.US_ASCII));
            commands.flush();
        } catch (IOException e) {
            runWithoutGuard(command);
        }
    }

    /** Somebody killed the guard: signals must still go out, each through a shell of its own. */
    private static void runWithoutGuard(String command) {
        try {
            Process once = new ProcessBuilder("/bin/sh", "-c", SCRIPT, "jrun-signal", "/nonexistent")
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try (OutputStream commands = once.getOutputStream()) {
                commands.write((command.startsWith("add ") ? "bye\n" : command + "\nbye\n")
                        .getBytes(StandardCharsets.US_ASCII));
            }
        } catch (IOException e) {
            throw new IllegalStateException("the agent's guard is gone and /bin/sh cannot be started: " + command, e);
        }
    }
}
