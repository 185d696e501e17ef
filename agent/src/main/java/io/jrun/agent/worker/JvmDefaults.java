package io.jrun.agent.worker;

import io.jrun.agent.node.SlurmStep;
import io.jrun.agent.proto.BindTo;
import io.jrun.agent.proto.JavaProgram;
import io.jrun.agent.proto.Launch;
import io.jrun.agent.proto.WorkerSpec;
import io.jrun.comm.WorkerSetup;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.StringTokenizer;
import java.util.stream.Stream;

/**
 * JVM options that let N workers share one node. They come first on the command line, and HotSpot lets the last of equal
 * options win, so {@code --jvm-opts} overrides each; the one exception, the choice of collector, is left out when the user
 * made one, since two of them stop the JVM.
 */
public final class JvmDefaults {
    /** All local heaps together; the rest is for native memory (tensors), code and the page cache. */
    private static final int HEAP_PERCENT = 50;

    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    /** The runtime's: what {@code WorkerMain} prepares before the program begins. */
    static final String NATIVE_SETUP = "-D" + WorkerSetup.PROPERTY + "=io.jrun.train.NativeSetup";

    private static final List<String> ACCESS_OPTIONS =
            List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

    /** Part of what an archive of classes depends on. */
    static final List<String> MODULE_OPTIONS = Stream.concat(
                    Stream.of("--add-modules=" + VECTOR_MODULE), ACCESS_OPTIONS.stream())
            .toList();

    private JvmDefaults() {}

    static List<String> compose(Launch launch, WorkerSpec worker, LaunchContext context) {
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
        options.add("-Dorg.bytedeco.javacpp.maxphysicalbytes=0"); // its default bound makes big models fail
        options.add(NATIVE_SETUP);
        String logDir = literal(context.rankLogDir(launch, worker.getRank()));
        options.add("-XX:ErrorFile=" + logDir + "/hs_err_pid%p.log");
        options.add("-XX:HeapDumpPath=" + logDir);
        if (ownCollector) { // a stranger, such as ZGC, may not fit the archive and would then start without any
            context.options()
                    .workerArchive()
                    .filter(Files::isRegularFile)
                    .ifPresent(archive -> options.addAll(archiveOptions(archive)));
        }
        return options;
    }

    /**
     * An archive that does not fit makes a slower start, not a message; the JVM's other warnings go to stderr. Mapped where it
     * was made for, its pages are shared by all workers and none of its pointers has to be changed.
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

    /** Whether the incubator line on this worker's stderr is our doing: jrun adds the module and the user does not. */
    public static boolean addsVectorModule(Launch launch) {
        return launch.getProgram().hasJava()
                && launch.getProgram().getJava().getJvmOptionsList().stream()
                        .noneMatch(option -> option.contains(VECTOR_MODULE));
    }

    /** A JDK made with jlink lists its modules in its release file, and does not start when told to add another. */
    private static boolean lacksVectorModule(Path javaHome) {
        try (Stream<String> lines = Files.lines(javaHome.resolve("release"), StandardCharsets.ISO_8859_1)) {
            return lines.anyMatch(line -> line.startsWith("MODULES=") && !line.contains(VECTOR_MODULE));
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Of the memory that a JVM finds, which is more than the job's where Slurm hands memory out without fencing it. In
     * hundredths of a percent and without the formatter, whose first use takes longer than all the rest of this.
     */
    private static String heapPercent(int workers, LaunchContext context) {
        long found = context.node().memoryBytes();
        long own = SlurmStep.memoryBytes(context.inherited()).orElse(found);
        double share = found > own ? (double) own / found : 1;
        int hundredths = Math.max(1, (int) (HEAP_PERCENT * 100 * share / workers));
        return hundredths / 100 + "." + hundredths % 100 / 10 + hundredths % 10;
    }

    /**
     * A JVM makes compiler threads and pools for all processors that it finds, which are more than the job's where Slurm hands
     * CPUs out without fencing them. One that is bound finds its own.
     */
    private static List<String> processors(Launch launch, LaunchContext context) {
        return SlurmStep.cpus(context.inherited()).isPresent() && launch.getBindTo() == BindTo.BIND_TO_NONE
                ? List.of("-XX:ActiveProcessorCount=" + context.node().cores())
                : List.of();
    }

    /** With one core per worker, parallel collector threads would only take turns with the other workers. */
    private static List<String> collector(int coresPerWorker) {
        if (coresPerWorker < 2) {
            return List.of("-XX:+UseSerialGC");
        }
        return List.of(
                "-XX:+UseG1GC",
                "-XX:ParallelGCThreads=" + coresPerWorker,
                "-XX:ConcGCThreads=" + Math.max(1, coresPerWorker / 4));
    }

    private static boolean choosesCollector(Launch launch, LaunchContext context) {
        JavaProgram program = launch.getProgram().getJava();
        if (program.getJvmOptionsList().stream().anyMatch(JvmDefaults::mayChooseCollector)) {
            return true;
        }
        Map<String, String> chosen = WorkerEnvironmentBuilder.chosen(launch);
        for (String name : List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")) {
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

    /** HotSpot expands %p in these paths. */
    private static String literal(Path path) {
        return path.toString().replace("%", "%%");
    }
}
