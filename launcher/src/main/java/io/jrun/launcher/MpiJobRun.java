package io.jrun.launcher;

import io.jrun.agent.worker.AgentOptions;
import io.jrun.agent.worker.JvmVariables;
import io.jrun.agent.worker.MallocVariables;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program.JavaProgram;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerCount;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Runs a Java program whose ranks mpirun starts, because MPI's ranks find each other through mpirun. jrun's backend and
 * Gloo work in these ranks too, so a benchmark can run all backends in turn in the same processes.
 */
final class MpiJobRun {
    /** The JVM options that workers of jrun have too. */
    private static final List<String> JVM_OPTIONS = List.of(
            "-XX:+UseSerialGC",
            "--add-modules=jdk.incubator.vector",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-XX:-UsePerfData",
            "-Dorg.bytedeco.javacpp.maxphysicalbytes=0");

    private MpiJobRun() {}

    /** Runs the job with the streams of this process. Returns mpirun's exit code. */
    static int run(JobSpec job, Path home, boolean asRoot) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command(job, home, asRoot)).inheritIO();
        builder.environment().putAll(JvmVariables.restored(System.getenv()));
        builder.environment().putAll(job.workers().environment());
        builder.environment().putIfAbsent("OMP_NUM_THREADS", "1");
        MallocVariables.addTo(builder.environment());
        Process mpirun;
        try {
            mpirun = builder.start();
        } catch (IOException e) {
            throw new UsageException("--backend mpi: mpirun is not on the PATH. Install Open MPI (Debian: apt install"
                    + " openmpi-bin), or leave mpi out.");
        }
        return mpirun.waitFor();
    }

    /**
     * Returns mpirun's command line. No rank is bound to a core, because a JVM has more threads than the communicating
     * thread.
     */
    static List<String> command(JobSpec job, Path home, boolean asRoot) {
        if (!(job.program() instanceof JavaProgram program)
                || !(job.placement().perNode() instanceof WorkerCount.Exactly(int ranks))) {
            throw new UsageException("--backend mpi: --nproc-per-node must be a number.");
        }
        List<String> command = new ArrayList<>(
                List.of("mpirun", "-n", Integer.toString(ranks), "--oversubscribe", "--bind-to", "none"));
        if (asRoot) {
            command.add("--allow-run-as-root");
        }
        job.timeout().ifPresent(limit -> command.addAll(List.of("--timeout", Long.toString(limit.toSeconds()))));
        for (Map.Entry<String, String> variable : job.workers().environment().entrySet()) {
            command.addAll(List.of("-x", variable.getKey()));
        }
        command.add("env"); // mpirun damages the class path of a command with the name java
        command.add(java(program));
        command.addAll(JVM_OPTIONS);
        command.addAll(program.manifestOptions());
        command.addAll(program.jvmOptions());
        command.addAll(List.of("-cp", home.resolve("lib/runtime") + "/*:" + String.join(":", program.classPath())));
        command.add(program.mainClass());
        command.addAll(program.args());
        return command;
    }

    private static String java(JavaProgram program) {
        Path jdk = program.javaHome().isEmpty() ? AgentOptions.javaHome() : Path.of(program.javaHome());
        return jdk.resolve("bin/java").toString();
    }
}
