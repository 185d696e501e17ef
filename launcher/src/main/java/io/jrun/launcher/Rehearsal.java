package io.jrun.launcher;

import io.jrun.launcher.cli.Surroundings;
import java.io.ByteArrayOutputStream;
import java.util.List;

/**
 * Runs a small job in the way a real one goes, so that the JVM can archive the classes that a start of jrun loads. The
 * job's workers run this class too. Asked for by scripts/jrun-archive.
 */
final class Rehearsal {
    /** Set to a folder for logs, makes {@link JRunCommand} rehearse instead of run. */
    static final String PROPERTY = "jrun.rehearsal";

    private Rehearsal() {}

    /** What the workers of the rehearsal do. */
    public static void main(String[] args) {
        System.out.println("rank " + System.getenv("RANK"));
    }

    /** Runs the job. The caller ends the JVM in the orderly manner that makes it write its archive. */
    static void run(String logs, Surroundings surroundings) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        JRunCommand command = new JRunCommand(surroundings, new Terminal(out, out, false, false));
        String jar = System.getProperty("java.class.path", ""); // started with -jar; a URL would have spaces escaped
        command.run(
                List.of("--nproc-per-node=2", "--log-dir=" + logs, "--main-class=" + Rehearsal.class.getName(), jar));
    }
}
