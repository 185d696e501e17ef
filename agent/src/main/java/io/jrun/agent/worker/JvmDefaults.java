package io.jrun.agent.worker;

import io.jrun.agent.node.JdkRelease;
import io.jrun.agent.node.SlurmStep;
import io.jrun.agent.proto.BindPolicy;
import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.comm.WorkerSetup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.StringTokenizer;
import java.util.stream.Stream;

/**
 * JVM options with which N workers share one node. The options come first on the command line. HotSpot uses the last of
 * equal options, so {@code --jvm-opts} overrides each option. The collector is the exception: jrun chooses none if the
 * user has chosen one, because a JVM with two collectors does not start.
 */
public final class JvmDefaults {
    /**
     * The part of the memory for all local heaps together. The rest is for native memory (tensors), code and the page
     * cache.
     */
    private static final int HEAP_PERCENT = 50;

    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    /** The class of the runtime that {@code WorkerMain} runs before the program. */
    static final String NATIVE_SETUP = "-D" + WorkerSetup.PROPERTY + "=io.jrun.train.NativeSetup";

    /** Big models fail with the default limit of JavaCPP. */
    private static final String MEMORY_CHECK = "-Dorg.bytedeco.javacpp.maxphysicalbytes=0";

    private static final List<String> ACCESS_OPTIONS =
            List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

    /** The options for modules. A class-data archive depends on them. */
    static final List<String> MODULE_OPTIONS = Stream.concat(
                    Stream.of("--add-modules=" + VECTOR_MODULE), ACCESS_OPTIONS.stream())
            .toList();

    private JvmDefaults() {}

    /** The options of each worker that do not depend on the job or on the machine. */
    public static List<String> ofEachWorker() {
        return Stream.concat(MODULE_OPTIONS.stream(), Stream.of(MEMORY_CHECK)).toList();
    }

    static List<String> compose(LaunchRound launch, WorkerSpec worker, LaunchContext context) {
        int workers = Math.max(1, launch.getWorkersCount());
        List<String> options = new ArrayList<>();
        options.add("-XX:MaxRAMPercentage=" + heapPercent(workers, context));
        options.addAll(processors(launch, context));
        boolean ownCollector = !choosesCollector(launch, context);
        if (ownCollector) {
            options.addAll(collector(context.node().cores() / workers));
        }
        options.addAll(lacksVectorModule(WorkerCommand.javaHome(launch)) ? ACCESS_OPTIONS : MODULE_OPTIONS);
        options.add("-XX:-UsePerfData");
        options.add(MEMORY_CHECK);
        options.add(NATIVE_SETUP);
        String logDir = literal(context.rankLogDir(launch, worker.getRank()));
        options.add("-XX:ErrorFile=" + logDir + "/hs_err_pid%p.log");
        options.add("-XX:HeapDumpPath=" + logDir);
        if (ownCollector) { // the archive may not fit another collector, such as ZGC
            context.options()
                    .workerArchive()
                    .filter(Files::isRegularFile)
                    .ifPresent(archive -> options.addAll(archiveOptions(archive)));
        }
        return options;
    }

    /**
     * Returns the options for the archive. An unusable archive makes a slower start without a message. The JVM's other
     * warnings go to stderr. At its original address the workers share the pages of the archive, and no pointer of the
     * archive changes.
     */
    private static List<String> archiveOptions(Path archive) {
        return List.of(
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:ArchiveRelocationMode=0",
                "-XX:SharedArchiveFile=" + archive,
                "-Xlog:disable",
                "-Xlog:all=warning:stderr",
                "-Xlog:cds*=off,aot*=off:stderr");
    }

    /** Whether jrun, and not the user, causes the incubator notice on this worker's stderr by adding the module. */
    public static boolean addsVectorModule(LaunchRound launch) {
        return launch.getProgram().hasJava()
                && launch.getProgram().getJava().getJvmOptionsList().stream()
                        .noneMatch(option -> option.contains(VECTOR_MODULE));
    }

    /**
     * Whether the JDK lacks the Vector API module. A JDK made with jlink lists its modules in its release file, and
     * does not start with an option for a missing module.
     */
    private static boolean lacksVectorModule(Path javaHome) {
        return JdkRelease.of(javaHome)
                .filter(release -> release.lacks(VECTOR_MODULE))
                .isPresent();
    }

    /**
     * Returns the heap in percent of the memory that a JVM finds. On a Slurm cluster without cgroups this memory is
     * more than the job's. The number has hundredths and is made without the formatter, whose first use takes longer
     * than the rest of this class.
     */
    private static String heapPercent(int workers, LaunchContext context) {
        long found = context.node().memoryBytes();
        long own = SlurmStep.memoryBytes(context.inherited()).orElse(found);
        double share = found > own ? (double) own / found : 1;
        int hundredths = Math.max(1, (int) (HEAP_PERCENT * 100 * share / workers));
        return hundredths / 100 + "." + hundredths % 100 / 10 + hundredths % 10;
    }

    /**
     * Returns the number of processors for a JVM. A JVM makes compiler threads and pools for all processors that it
     * finds. On a Slurm cluster without cgroups these are more than the job's. A bound JVM finds only its own
     * processors.
     */
    private static List<String> processors(LaunchRound launch, LaunchContext context) {
        return SlurmStep.cpus(context.inherited()).isPresent() && launch.getBindTo() == BindPolicy.BIND_POLICY_NONE
                ? List.of("-XX:ActiveProcessorCount=" + context.node().cores())
                : List.of();
    }

    /**
     * Returns the collector options. With one core for each worker, parallel collector threads would only compete with
     * the other workers.
     */
    private static List<String> collector(int coresPerWorker) {
        if (coresPerWorker < 2) {
            return List.of("-XX:+UseSerialGC");
        }
        return List.of(
                "-XX:+UseG1GC",
                "-XX:ParallelGCThreads=" + coresPerWorker,
                "-XX:ConcGCThreads=" + Math.max(1, coresPerWorker / 4));
    }

    private static boolean choosesCollector(LaunchRound launch, LaunchContext context) {
        JavaProgramSpec program = launch.getProgram().getJava();
        if (program.getJvmOptionsList().stream().anyMatch(JvmDefaults::mayChooseCollector)) {
            return true;
        }
        Map<String, String> chosen = WorkerEnvironmentBuilder.chosen(launch);
        for (String name : JvmVariables.NAMES) {
            String value = chosen.getOrDefault(name, context.inherited().getOrDefault(name, ""));
            if (Collections.list(new StringTokenizer(value)).stream()
                    .anyMatch(option -> mayChooseCollector((String) option))) {
                return true;
            }
        }
        return false;
    }

    private static boolean mayChooseCollector(String option) {
        return (option.startsWith("-XX:+Use") && option.endsWith("GC"))
                || option.startsWith("@")
                || option.startsWith("-XX:Flags=");
    }

    /** Escapes %, because HotSpot expands %p in these paths. */
    private static String literal(Path path) {
        return path.toString().replace("%", "%%");
    }
}
