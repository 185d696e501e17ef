package io.jrun.agent.guard;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * A shell in a session of its own that reads commands from a pipe. Only this agent holds the pipe. When the pipe ends,
 * however the agent ended, the shell sends SIGKILL to every registered process group and to every process with a
 * registered mark, removes the unused shared-memory segments of the job and the socket folder, and exits.
 *
 * <p>The agent also sends signals through the shell: the built-in {@code kill} costs a write to a pipe. A child process
 * would cost milliseconds, and a native call would start the linker. Signals are therefore asynchronous and ordered.
 * They go by number to groups that the agent has not yet reaped. Thread-safe. Only {@link #close} waits.
 */
public final class Guard implements AutoCloseable {
    /** Seconds to wait in close. After the end of the pipe the shell runs only kill(2) and one rm. */
    private static final long CLOSE_SECONDS = 5;

    /**
     * A worker becomes the leader of its group shortly after the fork. Before that only its pid can get a signal, so
     * the script has a second kill. The shell ignores the signals that a terminal or a batch system sends to all
     * processes.
     *
     * <p>{@code reap} kills the processes that carry a {@link ProcessMark}. It searches again after each success,
     * because a found process may just have forked. An agent that ended without a goodbye may have been killed between
     * a fork and its message to the shell. The shell therefore searches once more a second later.
     *
     * <p>{@code sweep} removes shared-memory segments whose lock no process holds. A killed process may need some time
     * to release its lock, so the script waits for a second. The folder of the segments is sticky: another user cannot
     * replace a file of this user that is no link. A worker that is root in its container has named its segments as
     * root's.
     */
    private static final String SCRIPT = """
            trap '' HUP INT QUIT TERM PIPE USR1 USR2
            groups=' '
            marks=' '
            orderly=
            reap() {
              for pass in 1 2 3; do
                found=$(grep -l -E -e "^Max realtime timeout +$1 " /proc/[0-9]*/limits)
                [ "$found" ] || return
                for file in $found; do
                  process=${file#/proc/}
                  kill -s 9 "${process%/limits}"
                done
              done
            }
            sweep() {
              wait_seconds=1
              for file in "/dev/shm/$segments"* "/dev/shm/jrun-0-${segments#jrun-[0-9]*-}"*; do
                if [ -f "$file" ] && [ -O "$file" ] && ! [ -L "$file" ]; then
                  flock -x -w "$wait_seconds" "$file" rm -f -- "$file" || wait_seconds=0
                fi
              done
            }
            sockets=$1
            segments=$2
            while read -r verb group signal; do
              case $verb in
                add) groups="$groups$group " ;;
                del) case $groups in *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;; esac ;;
                group) kill -s "$signal" -- "-$group" || kill -s "$signal" "$group" ;;
                process) kill -s "$signal" "$group" ;;
                sweep) kill -s 9 -- "-$group" ;;
                mark) marks="$marks$group " ;;
                end)
                  marks="${marks%% "$group" *} ${marks#* "$group" }"
                  reap "$group"
                  sweep
                  ;;
                bye) orderly=yes ;;
              esac
            done
            for group in $groups; do
              kill -s 9 -- "-$group" || kill -s 9 "$group"
            done
            for mark in $marks; do
              reap "$mark"
            done
            if ! [ "$orderly" ]; then
              sleep 1
              for mark in $marks; do
                reap "$mark"
              done
            fi
            sweep
            rm -rf -- "$sockets"
            """;

    /** The pattern of a shell that removes nothing. */
    private static final String NOTHING = "jrun-none/none";

    /** The commands for the end of the agent. */
    private static final Pattern KEPT = Pattern.compile("(add|mark) ");

    private final Process shell;
    private final OutputStream commands;
    private final ProcessMark marks = ProcessMark.ofThisProcess();
    private volatile boolean killOnClose;

    private Guard(Process shell) {
        this.shell = shell;
        this.commands = shell.getOutputStream();
    }

    /**
     * Starts the shell.
     *
     * @param socketFolder the folder to remove when the agent has ended
     * @param segments the prefix of the names of the job's shared-memory segments
     * @throws IOException if /bin/sh or setsid cannot be started
     */
    public static Guard start(Path socketFolder, String segments) throws IOException {
        return new Guard(
                new ProcessBuilder("setsid", "/bin/sh", "-c", SCRIPT, "jrun-guard", socketFolder.toString(), segments)
                        .directory(Path.of("/").toFile())
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start());
    }

    /** Registers a group by its leader. The guard kills the group when the agent ends. */
    public void add(long pid) {
        send("add " + pid);
    }

    /** Called when the leader has been reaped. Kills the rest of its group and removes the registration. */
    public void sweep(long pid) {
        send("sweep " + pid + "\ndel " + pid);
    }

    /**
     * Called before a round starts workers. The guard kills all processes with the returned mark when the round or the
     * agent ends.
     *
     * @return the mark for the start of each worker
     */
    public long beginRound(int round) {
        long mark = marks.of(round);
        send("mark " + mark);
        return mark;
    }

    /**
     * Called when all workers of a round have been reaped. Kills all processes that the workers have left, and removes
     * unused shared-memory segments of the job.
     */
    public void endRound(long mark) {
        send("end " + mark);
    }

    /** Sends a signal to a whole process group. */
    public void signalGroup(long pid, int signal) {
        send("group " + pid + " " + signal);
    }

    /** Sends a signal to one process. */
    public void signalProcess(long pid, int signal) {
        send("process " + pid + " " + signal);
    }

    /** The process id of the shell. */
    public long pid() {
        return shell.pid();
    }

    /**
     * Called when the job ends before workers have been reaped. {@link #close} then kills the workers, as after the
     * death of the agent.
     */
    public void killOnClose() {
        killOnClose = true;
    }

    /** Ends the pipe and waits at most 5 s for the end of the shell. */
    @Override
    public void close() {
        try {
            if (!killOnClose) {
                send("bye");
            }
            commands.close();
            if (!shell.waitFor(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                shell.destroyForcibly();
            }
        } catch (IOException e) {
            shell.destroyForcibly(); // the shell has died before; the workers also have a parent-death signal
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void send(String command) {
        try {
            commands.write((command + "\n").getBytes(StandardCharsets.US_ASCII));
            commands.flush();
        } catch (IOException e) {
            runWithoutGuard(command);
        }
    }

    /** Sends a signal through a shell of its own, if the guard was killed. */
    private static void runWithoutGuard(String command) {
        try {
            Process once = new ProcessBuilder("/bin/sh", "-c", SCRIPT, "jrun-signal", "/nonexistent", NOTHING)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            try (OutputStream commands = once.getOutputStream()) {
                commands.write((KEPT.matcher(command).lookingAt() ? "bye\n" : command + "\nbye\n")
                        .getBytes(StandardCharsets.US_ASCII));
            }
        } catch (IOException e) {
            throw new IllegalStateException("the agent's guard is gone and /bin/sh cannot be started: " + command, e);
        }
    }
}
