package io.jrun.agent.worker;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Puts a worker into a session and process group of its own and lets the kernel kill it when the thread that forked it
 * ends: {@code setsid setpriv --pdeathsig KILL command}. Both replace themselves, so the pid stays. They are named by
 * absolute path, since the worker's own PATH may be anything.
 */
public final class ParentDeath {
    private final List<String> prefix;

    private ParentDeath(List<String> prefix) {
        this.prefix = prefix;
    }

    /**
     * Looks for the programs.
     *
     * @throws IOException with a sentence for the user if one is missing
     */
    public static ParentDeath find() throws IOException {
        List<String> prefix = new ArrayList<>();
        if (System.getenv().containsKey("SLURM_JOB_ID")) {
            // Slurm sends its warning to every process of a step; who takes none of it must not die of it.
            prefix.addAll(List.of(locate("env"), "--ignore-signal=USR1,USR2"));
        }
        prefix.addAll(List.of(locate("setsid"), locate("setpriv"), "--pdeathsig", "KILL"));
        return new ParentDeath(prefix);
    }

    /** The command with these in front. */
    public List<String> wrap(List<String> command) {
        List<String> wrapped = new ArrayList<>(prefix);
        wrapped.addAll(command);
        return wrapped;
    }

    private static String locate(String program) throws IOException {
        String searchPath = System.getenv().getOrDefault("PATH", "") + ":/usr/bin:/bin";
        for (String folder : searchPath.split(":", -1)) {
            Path path = Path.of(folder, program);
            if (path.isAbsolute() && Files.isExecutable(path)) {
                return path.toString();
            }
        }
        throw new IOException("jrun starts every worker through '" + program
                + "', which is not on PATH here; install the package util-linux");
    }
}
