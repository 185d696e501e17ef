package io.jrun.agent.guard;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * A shell in a session of its own that reads commands from a pipe only this agent holds. When the pipe ends, however the
 * agent ended, the shell kills with SIGKILL every process group and every process of a mark that it was told of, removes the
 * job's unused shared-memory segments and the socket folder, and exits.
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
     * <p>{@code reap} kills the processes that carry a {@link ProcessMark}. It looks again where it has found some, since one of
     * them may just have forked. Unless the agent said goodbye, it may have been killed between a fork and the word of it, so
     * the shell looks once more a second later.
     *
     * <p>{@code sweep} removes shared-memory segments that no process holds a lock of. A process that was just killed may need
     * a moment to let go of its lock, so there is one second for that. The segments' folder is sticky: a file of this
     * user that is no link cannot be replaced by another user.
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
              patience=1
              for file in "/dev/shm/$segments"*; do
                if [ -f "$file" ] && [ -O "$file" ] && ! [ -L "$file" ]; then
                  flock -x -w "$patience" "$file" rm -f -- "$file" || patience=0
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

    /** For a shell that removes nothing. */
    private static final String NOTHING = "jrun-none/none";

    /** What concerns the guard's own end. */
    private static final Pattern KEPT = Pattern.compile("(add|mark) ");

    private final Process shell;
    private final OutputStream commands;
    private final ProcessMark marks = ProcessMark.ofThisProcess();
    private volatile boolean cutOff;

    private Guard(Process shell) {
        this.shell = shell;
        this.commands = shell.getOutputStream();
    }

    /**
     * Starts the shell.
     *
     * @param socketFolder removed when the agent has ended
     * @param segments with which the names of the job's shared-memory segments begin
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

    /** From now on the group of this leader is killed when the agent ends. */
    public void add(long pid) {
        tell("add " + pid);
    }

    /** The leader is reaped: kills what is left of its group, then forgets it. */
    public void sweep(long pid) {
        tell("sweep " + pid + "\ndel " + pid);
    }

    /**
     * A round is about to start workers. All processes that come to carry the mark are killed when the round or the agent ends.
     *
     * @return the mark, to be given to each worker as it is started
     */
    public long beginRound(int round) {
        long mark = marks.of(round);
        tell("mark " + mark);
        return mark;
    }

    /**
     * All workers of a round are reaped: kills what they have left, wherever it has gone, and removes shared-memory segments of
     * the job that nobody uses.
     */
    public void endRound(long mark) {
        tell("end " + mark);
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

    /** The job ends though workers are not reaped: {@link #close} will leave as little of them as the agent's own death does. */
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
