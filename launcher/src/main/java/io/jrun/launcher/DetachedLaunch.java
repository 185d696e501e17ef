package io.jrun.launcher;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedState;
import io.jrun.launcher.record.JobRecordReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * {@code --detach}: starts the same command line again as a launcher in a session of its own, with a file as its
 * console, and waits until the workers run or the launcher has ended.
 */
final class DetachedLaunch {
    /** The property of the detached launcher. */
    private static final String PROPERTY = "jrun.detached";

    /** Longer than the time in which agents must answer. */
    private static final long START_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(120);

    private static final long POLL_MILLIS = 20;

    private DetachedLaunch() {}

    /** Whether this process is the detached launcher. */
    static boolean isDetachedLauncher() {
        return System.getProperty(PROPERTY) != null;
    }

    /**
     * Starts the detached launcher. Returns 0, or the exit code of the job if the job has ended already.
     *
     * @param hasGeneratedId whether the command line has no --run-id, so that the detached launcher gets one
     * @param arguments number of words of the command line
     */
    static int start(JobSpec job, boolean hasGeneratedId, int arguments, Terminal terminal)
            throws IOException, InterruptedException {
        Path outputFile = Files.createTempFile("jrun-detach", ".txt");
        try {
            Process launcher = new ProcessBuilder(
                            command(hasGeneratedId ? List.of("--run-id=" + job.runId()) : List.of(), arguments))
                    .redirectInput(Path.of("/dev/null").toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(outputFile.toFile())
                    .start();
            Optional<JobRecord> begun = await(launcher, job.logDirectory().resolve(job.runId()));
            if (begun.isEmpty() && !launcher.isAlive()) {
                Files.readAllLines(outputFile, StandardCharsets.UTF_8).forEach(terminal::error);
                return launcher.exitValue();
            }
            terminal.print(job.runId());
            if (begun.isEmpty()) {
                terminal.report("the job is still being started; 'jrun describe " + job.runId() + "' shows its state");
            }
            if (begun.isPresent() && begun.get().state() == RecordedState.ENDED) {
                begun.get().report().forEach(terminal::error);
                return begun.get().exitCode();
            }
            return 0;
        } finally {
            Files.delete(outputFile);
        }
    }

    /**
     * Returns the command line of this process with further {@code options} and the properties of the detached
     * launcher.
     */
    private static List<String> command(List<String> options, int arguments) throws IOException {
        String own = Files.readString(Path.of("/proc/self/cmdline"));
        List<String> words = Arrays.asList(own.substring(0, own.length() - 1).split("\0", -1));
        int first = words.size() - arguments;
        List<String> java = words.subList(0, first);
        int jar = java.lastIndexOf("-jar");
        if (jar < 0) {
            throw new UsageException("--detach: start jrun with its own script.");
        }
        List<String> command = new ArrayList<>(List.of("setsid"));
        command.addAll(java.subList(0, jar));
        command.addAll(List.of("-D" + PROPERTY + "=1", "-Djrun.tty="));
        command.addAll(java.subList(jar, first));
        command.addAll(options);
        command.addAll(words.subList(first, words.size()));
        return command;
    }

    /**
     * Waits for the record with running workers. Returns empty if the launcher has ended before, or if the wait exceeds
     * the timeout.
     */
    private static Optional<JobRecord> await(Process launcher, Path logs) throws InterruptedException {
        long deadline = System.nanoTime() + START_TIMEOUT_NANOS;
        while (System.nanoTime() - deadline < 0) {
            boolean alive = launcher.isAlive();
            Optional<JobRecord> record =
                    read(logs).filter(found -> found.job().launcher().pid() == launcher.pid());
            if (record.isPresent() && (record.get().state() != RecordedState.STARTING || !alive)) {
                return record;
            }
            if (!alive) {
                return Optional.empty();
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
        return Optional.empty();
    }

    private static Optional<JobRecord> read(Path logs) {
        try {
            return Optional.of(JobRecordReader.read(logs));
        } catch (IOException e) {
            return Optional.empty(); // the record does not exist yet
        }
    }
}
