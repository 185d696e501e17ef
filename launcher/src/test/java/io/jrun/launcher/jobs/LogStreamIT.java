package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Running;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Much output, and a terminal that takes none of it for a while: 8 workers x 5 MB, or 100 MB with -Djrun.soak=true. */
class LogStreamIT extends RealJobs {
    private static final int WORKERS = 8;
    private static final int LINE_BYTES = 100;
    private static final int LINES = (Boolean.getBoolean("jrun.soak") ? 100 : 5) * 1_000_000 / LINE_BYTES;

    /** Well below the 800 MB that the soak writes, and above what any JVM of this heap takes. */
    private static final long MOST_KILOBYTES = 600_000;

    private static final Pattern LINE = Pattern.compile("\\[(\\d)@[^]]+] line (\\d{10})(x+)");

    /** Reads nothing before there is a file 'drain'. */
    private static final List<String> SLOW_TERMINAL = List.of(
            "bash", "-c", "set -o pipefail; \"$@\" | { while [ ! -e drain ]; do sleep 0.05; done; cat; }", "bash");

    /** The same for both streams; jrun has the process that is started. */
    private static final List<String> SLOW_CONSOLE = List.of(
            "bash", "-c", "exec \"$@\" > >(while [ ! -e drain ]; do sleep 0.05; done; cat; : > drained) 2>&1", "bash");

    @AfterEach
    void letGo() throws IOException {
        Files.writeString(folder.resolve("drain"), "");
    }

    @Test
    void aTerminalThatStandsStillStopsNoWorkerAndLosesNothing() throws IOException {
        String fill = "x".repeat(LINE_BYTES - "line 0123456789\n".length());
        String script = "seq -f 'line %%010.0f%s' 1 %d; : > done-$RANK".formatted(fill, LINES);
        Running job = jrun.startUnder(SLOW_TERMINAL, "--nproc-per-node=" + WORKERS, "sh", "-c", script);
        JRun.waitFor(() -> allHave("done"), "end of workers whose console stands still");
        assertThat(launcherKilobytes(job)).isBetween(1L, MOST_KILOBYTES);
        Files.writeString(folder.resolve("drain"), "");
        assertThat(job.await().exitCode()).isZero();
        assertThat(linesInOrder(job.outFile())).containsOnly(LINES);
        for (int rank = 0; rank < WORKERS; rank++) {
            assertThat(jrun.logs().resolve("attempt-0/rank-000" + rank + "/stdout.log"))
                    .hasSize((long) LINES * LINE_BYTES);
        }
    }

    @Test
    void aTerminalThatStandsStillHoldsUpNoSignal() throws IOException {
        String script = "trap ': > asked-$RANK' INT; seq 100000; : > done-$RANK; while :; do sleep 0.05; done";
        Running job = jrun.startUnder(
                SLOW_CONSOLE, "--nproc-per-node=" + WORKERS, "--shutdown-timeout=1000", "sh", "-c", script);
        JRun.waitFor(() -> allHave("done"), "end of output to a console that stands still");
        job.signal("INT");
        JRun.waitFor(() -> allHave("asked"), "signal at the workers");
        job.signal("INT");
        JRun.waitFor(
                () -> job.processesOfRank(0).isEmpty() && job.processesOfRank(7).isEmpty(), "kill of the workers");
        JRun.waitFor(
                () -> {
                    job.process().destroy(); // from when on jrun only waits for its console is not to be seen
                    return !job.process().isAlive();
                },
                "end of jrun");
        assertThat(job.awaitExit().exitCode()).isEqualTo(130);
        Files.writeString(folder.resolve("drain"), "");
        JRun.waitFor(() -> Files.exists(folder.resolve("drained")), "end of the console");
    }

    private boolean allHave(String file) {
        for (int rank = 0; rank < WORKERS; rank++) {
            if (!Files.exists(folder.resolve(file + "-" + rank))) {
                return false;
            }
        }
        return true;
    }

    /** By rank, how many lines there are; each is whole, and the one that comes next in its rank's order. */
    private static int[] linesInOrder(Path console) throws IOException {
        int[] seen = new int[WORKERS];
        try (BufferedReader lines = Files.newBufferedReader(console)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Matcher parts = LINE.matcher(line);
                assertThat(parts.matches()).as(line).isTrue();
                int rank = Integer.parseInt(parts.group(1));
                seen[rank]++;
                assertThat(Integer.parseInt(parts.group(2))).isEqualTo(seen[rank]);
            }
        }
        assertThat(Arrays.stream(seen)).hasSize(WORKERS);
        return seen;
    }

    /** The most memory that the launcher has held. */
    private static long launcherKilobytes(Running job) {
        String status = job.processes().stream()
                .filter(pid -> text(pid, "comm").equals("java\n")
                        && text(pid, "cmdline").contains("jrun-launcher"))
                .map(pid -> text(pid, "status"))
                .findFirst()
                .orElseThrow();
        return status.lines()
                .filter(line -> line.startsWith("VmHWM:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElseThrow();
    }

    private static String text(String pid, String file) {
        try {
            return Files.readString(Path.of("/proc", pid, file));
        } catch (IOException e) {
            return ""; // it has ended meanwhile
        }
    }
}
