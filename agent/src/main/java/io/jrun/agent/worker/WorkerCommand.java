package io.jrun.agent.worker;

import io.jrun.agent.proto.BindPolicy;
import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.ProgramSpec;
import io.jrun.agent.proto.WorkerSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Computes the command line of a worker. Pure. The class path is jrun's runtime first, then the user's jars, so a fat
 * jar with another jrun has no effect.
 */
public final class WorkerCommand {
    /** The class in jrun-comm that runs the user's main class. */
    public static final String WORKER_MAIN = "io.jrun.comm.worker.WorkerMain";

    private WorkerCommand() {}

    /** Returns program and arguments of one worker, with its placeholders replaced. */
    public static List<String> compose(LaunchRound launch, WorkerSpec worker, LaunchContext context) {
        List<String> command = new ArrayList<>(binding(launch, worker, context));
        command.addAll(program(launch, worker, context));
        return command;
    }

    /** The same without the words that bind the worker to CPUs. */
    static List<String> program(LaunchRound launch, WorkerSpec worker, LaunchContext context) {
        ProgramSpec program = launch.getProgram();
        List<String> command = new ArrayList<>(
                switch (program.getKindCase()) {
                    case JAVA -> java(program.getJava(), launch, worker, context);
                    case EXECUTABLE -> List.of(program.getExecutable().getPath());
                    case KIND_NOT_SET ->
                        throw new IllegalArgumentException("the launch of round " + launch.getRound()
                                + " names neither a Java program nor an executable");
                });
        command.addAll(Placeholders.expand(program.getArgsList(), worker.getRank(), worker.getLocalRank()));
        return command;
    }

    /** The words in front of a worker's command that bind the worker to CPUs. */
    static List<String> binding(LaunchRound launch, WorkerSpec worker, LaunchContext context) {
        return launch.getBindTo() == BindPolicy.BIND_POLICY_NONE
                ? List.of()
                : context.binding()
                        .words(launch.getBindTo(), worker.getGpu(), worker.getLocalRank(), launch.getWorkersCount());
    }

    /** Returns the jar or folder of a Java program. Without it a JVM would report only a missing class. */
    public static List<Path> neededFiles(LaunchRound launch) {
        return launch.getProgram().getJava().getClassPathList().stream()
                .limit(1) // a JVM ignores other missing entries, and a manifest may name missing jars
                .map(Path::of)
                .toList();
    }

    private static List<String> java(
            JavaProgramSpec program, LaunchRound launch, WorkerSpec worker, LaunchContext context) {
        List<String> command = new ArrayList<>();
        command.add(javaHome(launch).resolve("bin/java").toString());
        command.addAll(JvmDefaults.compose(launch, worker, context));
        command.addAll(program.getManifestOptionsList());
        command.addAll(program.getJvmOptionsList());
        command.add("-cp");
        command.add(classPath(program, context));
        command.add(WORKER_MAIN);
        command.add(program.getMainClass());
        return command;
    }

    /** Returns the JDK of the workers: the user's choice, or the JDK of this node. */
    static Path javaHome(LaunchRound launch) {
        String chosen = launch.getProgram().getJava().getJavaHome();
        return chosen.isEmpty() ? AgentOptions.javaHome() : Path.of(chosen);
    }

    private static String classPath(JavaProgramSpec program, LaunchContext context) {
        Stream<String> runtime = context.options().runtimeClassPath().stream().map(Path::toString);
        return Stream.concat(runtime, program.getClassPathList().stream()).collect(Collectors.joining(":"));
    }
}
