package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** scripts/jrun as its users run it, each test with a home, a folder and job names of its own. */
final class JRun {
    /** Separates working from hanging; a job here takes less than a second. */
    private static final long DEADLINE_SECONDS = 120;

    private static final Path SCRIPT =
            Path.of(Objects.requireNonNull(System.getProperty("jrun.root"))).resolve("scripts/jrun");

    private final Path folder;
    private final Map<String, String> environment = new HashMap<>();
    private int jobs;

    /** Runs jobs with logs and state below {@code folder}. */
    JRun(Path folder) {
        this.folder = folder;
        environment.put("HOME", folder.toString());
        environment.put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        environment.put("JRUN_NO_ARCHIVE", "1");
        environment.put("JRUN_HOME", Objects.requireNonNull(System.getProperty("jrun.home")));
        environment.put("OMP_NUM_THREADS", "1");
    }

    /** Sets a variable for all further jobs. */
    JRun with(String variable, String value) {
        environment.put(variable, value);
        return this;
    }

    /** The log folder of the latest job. */
    Path logs() {
        return folder.resolve("logs").resolve(runId());
    }

    String runId() {
        return "it-" + ProcessHandle.current().pid() + "-" + Integer.toHexString(folder.hashCode()) + "-" + jobs;
    }

    /** Runs a command line to its end. */
    Result run(String... args) {
        return start(args).await();
    }

    /** Starts a job. */
    Running start(String... args) {
        // A runner in the background may have had signals ignored, which every child inherits.
        return startWith("--default-signal=HUP,INT,QUIT,TERM,USR1,USR2", args);
    }

    /** Starts a job with a signal ignored from the start, as nohup does. */
    Running startIgnoring(String signal, String... args) {
        return startWith("--ignore-signal=" + signal, args);
    }

    private Running startWith(String signalOption, String... args) {
        jobs++;
        List<String> command = new ArrayList<>(List.of("env", signalOption));
        command.add(SCRIPT.toString());
        command.addAll(List.of(args));
        return startCommand(command);
    }

    private Running startCommand(List<String> command) {
        Path out = folder.resolve("out-" + jobs);
        Path err = folder.resolve("err-" + jobs);
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        for (String name : List.of("LC_ALL", "LANG", "XDG_STATE_HOME", "NO_COLOR")) {
            builder.environment().remove(name);
        }
        builder.environment().putAll(environment);
        builder.environment().put("JRUN_RUN_ID", runId());
        builder.environment().put("JRUN_LOG_DIR", folder.resolve("logs").toString());
        try {
            return new Running(builder.start(), out, err, runId());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What a finished job left. */
    record Result(int exitCode, String out, String err) {
        /** Lines of stdout, sorted: ranks write in any order. */
        List<String> sortedOut() {
            return out.lines().sorted().toList();
        }
    }

    /** A job under way. */
    record Running(Process process, Path outFile, Path errFile, String runId) {
        /** Waits until stdout has {@code text}. */
        Running awaitOutput(String text) {
            waitFor(() -> out().contains(text), "output '" + text + "'");
            return this;
        }

        String out() {
            return read(outFile);
        }

        String err() {
            return read(errFile);
        }

        void signal(String name) {
            try {
                Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
                assertThat(kill.waitFor()).isZero();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        /** Whether jrun itself stands still, as after Ctrl-Z. */
        boolean isStopped() {
            String stat = read(Path.of("/proc/" + process.pid() + "/stat"));
            return stat.substring(stat.lastIndexOf(')')).startsWith(") T");
        }

        /** Waits for the end, and checks that nothing of the job is left. */
        Result await() {
            try {
                if (!process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
                    signal("QUIT");
                    process.waitFor(2, TimeUnit.SECONDS);
                    process.destroyForcibly();
                    throw new AssertionError("jrun does not end; stdout:\n" + out() + "\nstderr:\n" + err());
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                throw new IllegalStateException(e);
            }
            awaitNothingLeft();
            return new Result(process.exitValue(), out(), err());
        }

        /** Workers and their children carry the run id in their environment. */
        void awaitNothingLeft() {
            waitFor(() -> processes().isEmpty(), "end of processes of " + runId);
        }

        List<String> processes() {
            byte[] mark = ("JRUN_RUN_ID=" + runId + "\0").getBytes(StandardCharsets.UTF_8);
            try (Stream<Path> all = Files.list(Path.of("/proc"))) {
                return all.filter(path -> path.getFileName().toString().matches("\\d+"))
                        .filter(path -> contains(environ(path), mark))
                        .map(path -> path.getFileName().toString())
                        .toList();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static byte[] environ(Path process) {
        try {
            return Files.readAllBytes(process.resolve("environ"));
        } catch (IOException e) {
            return new byte[0]; // it ended meanwhile
        }
    }

    private static boolean contains(byte[] text, byte[] part) {
        return new String(text, StandardCharsets.ISO_8859_1).contains(new String(part, StandardCharsets.ISO_8859_1));
    }

    private static String read(Path file) {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Polls, since another process is waited for; the deadline only separates working from hanging. */
    static void waitFor(BooleanSupplier condition, String what) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadline).as("waiting for " + what).isNegative();
            try {
                TimeUnit.MILLISECONDS.sleep(10);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
