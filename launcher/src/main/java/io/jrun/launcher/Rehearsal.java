package io.jrun.launcher;

import io.jrun.agent.AgentOptions;
import io.jrun.agent.AgentServer;
import io.jrun.launcher.cli.Surroundings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Runs a small job in the way a real one goes, and one on a standing agent, so that the JVM can archive the classes that a
 * start of jrun loads. The jobs' workers run this class too. Asked for by scripts/jrun-archive.
 */
final class Rehearsal {
    /** Set to a folder for logs, makes {@link JRunCommand} rehearse instead of run. */
    static final String PROPERTY = "jrun.rehearsal";

    private Rehearsal() {}

    /** What the workers of the rehearsal do. */
    public static void main(String[] args) {
        System.out.println("rank " + System.getenv("RANK"));
    }

    /** Runs the jobs. The caller ends the JVM in the orderly manner that makes it write its archive. */
    static void run(String logs, Surroundings surroundings) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        JRunCommand command = new JRunCommand(surroundings, new Terminal(out, out, false, false));
        String jar = System.getProperty("java.class.path", ""); // started with -jar; a URL would have spaces escaped
        List<String> job = List.of("--log-dir=" + logs, "--main-class=" + Rehearsal.class.getName(), jar);
        command.run(with(job, "--nproc-per-node=2"));
        Path secret = Path.of(logs, "secret");
        try (AgentServer agent = AgentServer.listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                SecretFile.readOrCreate(secret),
                AgentOptions.ofHome(surroundings.home(), Version.TEXT),
                _ -> {})) {
            command.run(with(job, "--hosts=127.0.0.1:1", "--agent-port=" + agent.port(), "--secret-file=" + secret));
        } catch (IOException _) {
            // Only the start of jobs on other hosts will be slower.
        }
    }

    private static List<String> with(List<String> job, String... options) {
        return Stream.concat(Stream.of(options), job.stream()).toList();
    }
}
