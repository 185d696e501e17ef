package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@code --log-limit}: jobs that print more than the limit. */
class LogLimitIT extends RealJobs {
    private static final int LINE_BYTES = 11; // of a number with 10 digits
    private static final int BATCH = 500;
    private static final int BATCHES = 12;
    private static final long FILE_BYTES = 4096;
    private static final int FILES = 3;

    private static List<Path> files(Path rank, String stream) throws IOException {
        try (Stream<Path> files = Files.list(rank)) {
            return files.filter(file -> file.getFileName().toString().startsWith(stream + ".log"))
                    .filter(file -> !file.toString().endsWith(".times"))
                    .sorted()
                    .toList();
        }
    }

    private static void assertBounded(Path rank) throws IOException {
        List<Path> files = files(rank, "stdout");
        assertThat(files).hasSize(FILES);
        for (Path file : files) {
            assertThat(Files.size(file)).isLessThanOrEqualTo(FILE_BYTES);
        }
    }

    private static List<String> numbers(int from, int to) {
        return IntStream.rangeClosed(from, to).mapToObj("%010d"::formatted).toList();
    }

    /** The lines after the first, which says how much is gone; they are consecutive numbers up to {@code last}. */
    private static void assertNewestLines(String out, int last) {
        List<String> lines = out.lines().toList();
        int first = Integer.parseInt(lines.get(1));
        assertThat(lines.getFirst())
                .isEqualTo("[jrun: " + (long) (first - 1) * LINE_BYTES
                        + " bytes of this output are gone, by --log-limit]");
        assertThat(lines.subList(1, lines.size())).isEqualTo(numbers(first, last));
    }

    @Test
    void aFollowerLosesNoLineAndTheFilesOfEachAttemptHaveTheLimit() throws IOException {
        // Attempt 0 prints without a reader and fails. In attempt 1 each batch waits until the follower has the last
        // one, and is larger than a file.
        String script = "seq -f %010.0f 1 5000; [ $TORCHELASTIC_RESTART_COUNT = 1 ] || exit 1; : > second;"
                + " for i in $(seq 1 " + BATCHES + "); do"
                + " until grep -q \"^$(printf %010d $((5000 + (i - 1) * " + BATCH + ")))$\" followed 2>/dev/null;"
                + " do sleep 0.02; done;"
                + " seq -f %010.0f $((5001 + (i - 1) * " + BATCH + ")) $((5000 + i * " + BATCH + ")); done";
        Running job = jrun.start("--log-limit=4K:3", "--max-restarts=1", "--redirects=1", "sh", "-c", script);
        Path logs = jrun.logs();
        String id = jrun.runId();
        JRun.waitFor(() -> Files.exists(folder.resolve("second")), "second attempt");
        Running follower =
                jrun.startUnder(List.of("sh", "-c", "exec \"$@\" > followed", "sh"), "logs", "-f", "--rank=0", id);
        assertThat(job.await().exitCode()).isZero();
        assertThat(follower.await().exitCode()).isZero();
        int last = 5000 + BATCHES * BATCH;
        assertNewestLines(JRun.read(folder.resolve("followed")), last);
        assertThat(JRun.read(folder.resolve("followed")).lines()).hasSizeGreaterThan(BATCHES * BATCH);
        for (int attempt = 0; attempt < 2; attempt++) {
            assertBounded(logs.resolve("attempt-" + attempt + "/rank-0000"));
        }

        Result kept = jrun.run("logs", "--rank=0", id);
        assertNewestLines(kept.out(), last);
        assertThat(kept.out().length()).isLessThan(FILES * (int) FILE_BYTES + 100);
        assertThat(jrun.run("logs", "--rank=0", "--tail=3", id).out().lines()).isEqualTo(numbers(last - 2, last));
        assertThat(jrun.run("logs", "--rank=0", "--since=1h", id).out()).isEqualTo(kept.out());
        List<String> timed = new ArrayList<>(
                jrun.run("logs", "--rank=0", "--timestamps", id).out().lines().toList());
        assertThat(timed.removeFirst()).startsWith("[jrun: ");
        assertThat(timed).allMatch(line -> line.matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ \\d{10}"));
        assertThat(jrun.run("rm", id).exitCode()).isZero();
        assertThat(logs).doesNotExist();
    }

    @Test
    void aKillOfTheAgentLeavesTheNewestLines() throws IOException {
        Running job = jrun.start("--log-limit=4096:3", "--redirects=3", "sh", "-c", "seq -f %010.0f 1 100000000");
        Path rank = jrun.logs().resolve("attempt-0/rank-0000");
        String id = jrun.runId();
        JRun.waitFor(() -> Files.exists(rank) && hasFullFiles(rank), "files that are full");
        Path record = jrun.logs().resolve("events.jsonl"); // jrun logs reads the ranks there
        JRun.waitFor(() -> JRun.read(record).contains("\"workerStarted\""), "the record of the worker");
        job.processes().stream()
                .filter(pid -> JRun.read(Path.of("/proc", pid, "cmdline")).contains("jrun-launcher"))
                .forEach(pid -> JRun.kill("KILL", pid));
        job.awaitExit();
        job.awaitNothingLeft();
        String out = jrun.run("logs", "--rank=0", id).out();
        List<String> lines = out.lines().toList();
        String lastWhole =
                lines.get(out.endsWith("\n") && lines.getLast().length() == 10 ? lines.size() - 1 : lines.size() - 2);
        int last = Integer.parseInt(lastWhole);
        assertNewestLines(String.join("\n", lines.subList(0, lines.indexOf(lastWhole) + 1)), last);
        assertThat(lines).hasSizeGreaterThan((int) FILE_BYTES / LINE_BYTES);
    }

    private static boolean hasFullFiles(Path rank) {
        try {
            return files(rank, "stdout").stream()
                    .anyMatch(file -> file.toString().matches(".*log\\.0*[1-9][0-9]{5,}"));
        } catch (IOException e) {
            return false;
        }
    }
}
