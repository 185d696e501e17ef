package io.jrun.agent.worker;

import io.jrun.agent.node.SearchPath;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Puts a worker into a session and process group of its own, and lets the kernel kill the worker when the forking
 * thread ends: {@code prlimit --rttime=MARK setsid setpriv --pdeathsig KILL command}. Each program replaces itself by
 * exec, so the pid stays the same. The programs have absolute paths, because the PATH of the worker may be anything.
 */
public final class ParentDeath {
    private static final Path LIMITS = Path.of("/proc/self/limits");

    private final List<String> prefix;
    private final Optional<String> prlimit;

    private ParentDeath(List<String> prefix, Optional<String> prlimit) {
        this.prefix = prefix;
        this.prlimit = prlimit;
    }

    /**
     * Finds the programs.
     *
     * @param environment the environment of the agent
     * @throws IOException with a message for the user if a program is missing or too old
     */
    public static ParentDeath find(Map<String, String> environment) throws IOException {
        List<String> prefix = new ArrayList<>();
        if (environment.containsKey("SLURM_JOB_ID")) {
            // Slurm sends its warning signal to every process of a step. A process without a handler must survive the
            // signal.
            prefix.addAll(List.of(
                    locate("env", "ignore-signal", "coreutils 8.31", environment), "--ignore-signal=USR1,USR2"));
        }
        prefix.addAll(List.of(
                locate("setsid", "", "util-linux 2.33", environment),
                locate("setpriv", "pdeathsig", "util-linux 2.33", environment),
                "--pdeathsig",
                "KILL"));
        Optional<String> prlimit = marksAreKept()
                ? Optional.of(locate("prlimit", "rttime", "util-linux 2.33", environment))
                : Optional.empty();
        return new ParentDeath(prefix, prlimit);
    }

    /** Whether the kernel shows the limit. Sandboxes with a kernel of their own may lack the limit. */
    private static boolean marksAreKept() throws IOException {
        return Files.isReadable(LIMITS) && Files.readString(LIMITS).contains("Max realtime timeout");
    }

    /**
     * Returns the command behind these programs.
     *
     * @param mark the limit of real-time CPU time that marks its processes
     */
    public List<String> wrap(List<String> command, long mark) {
        List<String> wrapped = new ArrayList<>();
        prlimit.ifPresent(program -> wrapped.addAll(List.of(program, "--rttime=" + mark)));
        wrapped.addAll(prefix);
        wrapped.addAll(command);
        return wrapped;
    }

    /**
     * Finds a program that knows an option. A call with --version takes as long as the start of a worker, so jrun
     * searches the file of the program for the name of the option.
     *
     * @param option the option that the program must know, empty for none
     * @param since the package and its first version with this option
     */
    private static String locate(String program, String option, String since, Map<String, String> environment)
            throws IOException {
        Path path = SearchPath.ofTools(environment)
                .find(program)
                .orElseThrow(() -> new IOException("jrun starts every worker through '" + program
                        + "', which is not on PATH here; install " + since + " or newer"));
        String text = option.isEmpty() ? "" : Files.readString(path, StandardCharsets.ISO_8859_1);
        if (text.contains(option) || text.startsWith("#!")) {
            return path.toString();
        }
        throw new IOException("jrun starts every worker through '" + program + " --" + option + "', which " + path
                + " does not know; install " + since + " or newer");
    }
}
