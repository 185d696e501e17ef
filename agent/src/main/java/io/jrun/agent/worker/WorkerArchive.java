package io.jrun.agent.worker;

import io.jrun.agent.AgentOptions;
import io.jrun.comm.Distributed;
import io.jrun.comm.WorkerSetup;
import io.jrun.comm.World;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Makes the class-data archive that Java workers start from. It is a static one, dumped with the class path every worker
 * begins with and with the workers' module options: with those, the JDK's own archive cannot be used in full, and a dynamic
 * one lies on top of it. HotSpot checks the archive against the jars; where it does not fit, workers start as without it.
 */
public final class WorkerArchive {
    private static final long STEP_SECONDS = 120;

    /** The runtime's: what {@code WorkerMain} does in the rehearsal in place of {@link JvmDefaults#NATIVE_SETUP}. */
    private static final String TRAINING = "-D" + WorkerSetup.PROPERTY + "=io.jrun.train.elastic.TrainingRehearsal";

    private static final Set<String> KEPT_VARIABLES = Set.of("PATH", "HOME", "TMPDIR", "LC_ALL", "LANG");

    private WorkerArchive() {}

    /** Entry point for a shell: {@code WorkerArchive HOME TARGET} archives for the installation in HOME. */
    public static void main(String[] args) throws IOException, InterruptedException {
        create(AgentOptions.ofHome(Path.of(args[0]), ""), Path.of(args[1]));
    }

    /** Dumps into a neighbour of {@code target} and renames it, so that nobody sees half an archive. Takes seconds. */
    public static void create(AgentOptions options, Path target) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory(target.toAbsolutePath().getParent(), "worker-archive");
        Path classes = folder.resolve("classes");
        Path archive = folder.resolve("archive");
        String runtime =
                options.runtimeClassPath().stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
        try {
            List<String> rehearsal = java("-XX:DumpLoadedClassList=" + classes, TRAINING);
            rehearsal.addAll(List.of("-cp", runtime + File.pathSeparator + System.getProperty("java.class.path")));
            rehearsal.addAll(List.of(WorkerCommand.WORKER_MAIN, Rehearsal.class.getName()));
            run(rehearsal);
            List<String> dump =
                    java("-Xshare:dump", "-XX:SharedClassListFile=" + classes, "-XX:SharedArchiveFile=" + archive);
            dump.addAll(List.of("-cp", runtime));
            run(dump);
            Files.move(archive, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(classes);
            Files.deleteIfExists(archive);
            Files.delete(folder);
        }
    }

    private static List<String> java(String... options) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-XX:+UseSerialGC");
        command.add("-Xlog:disable");
        command.addAll(JvmDefaults.MODULE_OPTIONS);
        command.addAll(List.of(options));
        return command;
    }

    private static void run(List<String> command) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().retainAll(KEPT_VARIABLES); // a rehearsal must not join the job it is called from
        Process process = builder.start();
        if (!process.waitFor(STEP_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new IOException("archiving the workers' classes took over " + STEP_SECONDS + " s: " + command);
        }
        if (process.exitValue() != 0) {
            throw new IOException(
                    "archiving the workers' classes failed with exit code " + process.exitValue() + ": " + command);
        }
    }

    /** What the archive is made of, beside the training: the classes that every worker needs. */
    public static final class Rehearsal {
        private Rehearsal() {}

        /** A world of one, joined and left. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                world.group().barrier();
            }
        }
    }
}
