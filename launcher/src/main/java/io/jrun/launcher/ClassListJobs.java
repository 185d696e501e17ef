package io.jrun.launcher;

import io.jrun.agent.AgentServer;
import io.jrun.agent.worker.AgentOptions;
import io.jrun.launcher.cli.CommandContext;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;

/**
 * Runs a small job with a failure and a restart, a job of another program, and a job on a standing agent, so that the
 * JVM can archive the classes that jrun loads. The workers of the first job write lists of their classes to the folder
 * {@value #CLASS_LISTS}. scripts/jrun-archive starts them.
 */
final class ClassListJobs {
    /** A folder for logs. If the property is set, {@link JRunCommand} runs these jobs instead of a job. */
    static final String PROPERTY = "jrun.class.list.jobs";

    /** A folder below the working directory. A relative path is needed, because an absolute path may have spaces. */
    private static final String CLASS_LISTS = "classes";

    /** A class of the runtime, which is not on the launcher's class path. */
    private static final String PROGRAM = "io.jrun.train.elastic.ClassListProgram";

    private ClassListJobs() {}

    /** The program of the worker on the standing agent. */
    public static void main(String[] args) {
        System.out.println("rank " + System.getenv("RANK"));
    }

    /** Runs the jobs. The caller must end the JVM by a normal exit, because only a normal exit writes the archive. */
    static void run(String logs, CommandContext commandContext) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        JRunCommand command = new JRunCommand(commandContext, new Terminal(out, out, false, false));
        command.run(List.of("version"));
        command.run(List.of("help"));
        String jar = System.getProperty("java.class.path", ""); // started with -jar; a URL would have spaces escaped
        command.run(List.of(
                "--nproc-per-node=2",
                "--max-restarts=1",
                "--timeout=60",
                // These workers live for seconds.
                "--jvm-opts=-XX:TieredStopAtLevel=1 -XX:DumpLoadedClassList=" + CLASS_LISTS + "/%p",
                "--log-dir=" + logs,
                "--main-class=" + PROGRAM,
                jar));
        command.run(List.of("--nproc-per-node=1", "--timeout=60", "--log-dir=" + logs, "true"));
        Path secret = Path.of(logs, "secret");
        try (AgentServer agent = AgentServer.listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                SecretFile.readOrCreate(secret),
                AgentOptions.ofHome(commandContext.home(), Version.TEXT),
                _ -> {})) {
            command.run(List.of(
                    "--hosts=127.0.0.1:1",
                    "--agent-port=" + agent.port(),
                    "--secret-file=" + secret,
                    "--log-dir=" + logs,
                    "--main-class=" + ClassListJobs.class.getName(),
                    jar));
        } catch (IOException _) {
            // Without these classes only jobs on other hosts start more slowly.
        }
    }
}
