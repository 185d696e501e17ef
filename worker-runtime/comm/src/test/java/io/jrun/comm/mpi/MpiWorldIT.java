package io.jrun.comm.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Worlds whose three ranks mpirun has started. */
class MpiWorldIT {
    private static final long DEADLINE_SECONDS = 60;

    @TempDir
    private Path folder;

    private record Ended(int exitCode, String output) {}

    @BeforeEach
    void needsMpi() {
        boolean found = Stream.of(System.getenv("PATH").split(File.pathSeparator, -1))
                .anyMatch(path -> Files.isExecutable(Path.of(path, "mpirun")));
        assumeTrue(found, "skipped: mpirun is not on the PATH (Debian: apt install openmpi-bin)");
    }

    @Test
    void groupsOfBothBackendsWork() throws IOException, InterruptedException {
        Ended ended = run("groups");
        assertThat(ended.exitCode()).as(ended.output()).isZero();
        assertThat(ended.output())
                .contains("rank 0 of 3 is done, local rank 0 of 3, node 0 of 1")
                .contains("rank 2 of 3 is done, local rank 2 of 3, node 0 of 1");
    }

    @Test
    void missingFunctionsAndDifferentCallsAreRefused() throws IOException, InterruptedException {
        Ended ended = run("refusals");
        // A group on which a call has failed is poisoned, and its world still ends in order.
        assertThat(ended.exitCode()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("rank 0 of 3 is done");
    }

    @Test
    void aDeadlineInsideMpiEndsTheJobAndNamesTheOperation() throws IOException, InterruptedException {
        Ended ended = run("absent");
        assertThat(ended.exitCode()).isEqualTo(1);
        assertThat(ended.output())
                .contains("barrier #0 on group of ranks 0-2 waits in MPI, which cannot cancel an operation:"
                        + " the operation has passed its deadline of 2 s");
    }

    private Ended run(String program) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("mpirun", "-n", "3", "--oversubscribe", "--bind-to", "none"));
        if (System.getProperty("user.name").equals("root")) {
            command.add("--allow-run-as-root");
        }
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "--add-modules=jdk.incubator.vector",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                MpiPrograms.class.getName(),
                program));
        Path output = Files.createTempFile(folder, "output", ".txt");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean ended = process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS);
        if (!ended) {
            process.destroy();
            process.waitFor();
        }
        String text = Files.readString(output);
        assertThat(ended)
                .as("no end within %s s; it printed: %s", DEADLINE_SECONDS, text)
                .isTrue();
        return new Ended(process.exitValue(), text);
    }
}
