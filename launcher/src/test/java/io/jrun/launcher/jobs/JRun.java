package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** scripts/jrun as its users run it, each test with a home, a folder and job names of its own. */
final class JRun {
    /** Separates working from hanging; a job here takes less than a second. */
    private static final long DEADLINE_SECONDS = 120;

    /** Separates working from hanging as well, for parts of a job. */
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    /** The beginning of the names of all jobs of this test JVM. */
    static final String RUN_ID_START = "it-" + Leftovers.OWNER + "-";

    /** The checkout's scripts. */
    static final Path SCRIPTS =
            Path.of(Objects.requireNonNull(System.getProperty("jrun.root"))).resolve("scripts");

    private final Path folder;
    private final Path script;
    private final Map<String, String> environment = new HashMap<>();
    private int jobs;

    /** Runs jobs with logs and state below {@code folder}. */
    JRun(Path folder) {
        this(folder, SCRIPTS.resolve("jrun"));
        Archives.linkInto(folder.resolve("cache"));
    }

    /** The same with another {@code script} than the checkout's. */
    JRun(Path folder, Path script) {
        this.folder = folder;
        this.script = script;
        environment.put(Leftovers.OWNER_VARIABLE, Leftovers.OWNER);
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

    /** Leaves a variable out of all further jobs. */
    JRun without(String variable) {
        environment.remove(variable);
        return this;
    }

    /** The log folder of the latest job. */
    Path logs() {
        return folder.resolve("logs").resolve(runId());
    }

    String runId() {
        return RUN_ID_START + Integer.toHexString(folder.hashCode()) + "-" + jobs;
    }

    /** Runs a command line to its end. */
    Result run(String... args) {
        return start(args).await();
    }

    /** Starts a job. */
    Running start(String... args) {
        return startUnder(List.of(), args);
    }

    /** Starts a job through {@code wrapper}, a command that runs the one it is given. */
    Running startUnder(List<String> wrapper, String... args) {
        jobs++;
        // A runner in the background may have had signals ignored, which every child inherits.
        List<String> command = new ArrayList<>(List.of("env", "--default-signal=HUP,INT,QUIT,TERM,USR1,USR2"));
        command.addAll(wrapper);
        command.add(script.toString());
        command.addAll(List.of(args));
        return startCommand(command, jvmOptions(args));
    }

    /**
     * Workers here live for seconds: they are done before the optimising compiler has paid for itself. Only the
     * benchmark of memory looks at its results.
     */
    static Map<String, String> jvmOptions(String... args) {
        List<String> words = List.of(args);
        boolean isJava = words.stream().anyMatch(word -> word.endsWith(".jar"))
                || (words.contains("bench") && !words.contains("memory"));
        boolean isChosen = words.stream().anyMatch(word -> word.startsWith("--jvm-opts"));
        return isJava && !isChosen ? Map.of("JRUN_JVM_OPTS", "-XX:TieredStopAtLevel=1") : Map.of();
    }

    private Running startCommand(List<String> command, Map<String, String> options) {
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
        builder.environment().putAll(options);
        builder.environment().putAll(environment);
        builder.environment().put("JRUN_RUN_ID", runId());
        builder.environment().put("JRUN_LOG_DIR", folder.resolve("logs").toString());
        try {
            Process process = builder.start();
            Leftovers.started(process);
            return new Running(process, out, err, runId());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The result of a finished job. */
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

        /** Waits until stdout has text of a form. */
        Running awaitMatch(Pattern form) {
            waitFor(() -> form.matcher(out()).find(), "output '" + form + "'");
            return this;
        }

        String out() {
            return read(outFile);
        }

        String err() {
            return read(errFile);
        }

        void signal(String name) {
            kill(name, Long.toString(process.pid()));
        }

        /** Whether jrun itself stands still, as after Ctrl-Z. */
        boolean isStopped() {
            String stat = read(Path.of("/proc/" + process.pid() + "/stat"));
            return stat.substring(stat.lastIndexOf(')')).startsWith(") T");
        }

        /** Waits for the end, and checks that nothing of the job is left. */
        Result await() {
            return await(DEADLINE_SECONDS);
        }

        /** As {@link #await()}, for jobs that take longer. */
        Result await(long seconds) {
            Result result = awaitExit(seconds);
            awaitNothingLeft();
            return result;
        }

        /** Ends a command that would go on. */
        void abandon() {
            process.destroyForcibly();
            awaitExit();
        }

        /** Waits for the end of jrun alone, which may have left a job to itself. */
        Result awaitExit() {
            return awaitExit(DEADLINE_SECONDS);
        }

        private Result awaitExit(long seconds) {
            try {
                if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                    signal("QUIT");
                    process.waitFor(2, TimeUnit.SECONDS);
                    process.destroyForcibly();
                    throw new AssertionError("jrun does not end; stdout:\n" + out() + "\nstderr:\n" + err());
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                throw new IllegalStateException(e);
            }
            return new Result(process.exitValue(), out(), err());
        }

        /** Launcher, workers and their children carry the run id in their environment. */
        void awaitNothingLeft() {
            waitFor(() -> processes().isEmpty(), "end of processes of " + runId);
        }

        List<String> processes() {
            return Leftovers.processesWith("JRUN_RUN_ID=" + runId);
        }

        /** A worker and all that came of it. */
        List<String> processesOfRank(int rank) {
            return Leftovers.processesWith("JRUN_RUN_ID=" + runId, "RANK=" + rank);
        }
    }

    static void kill(String signal, String pid) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + signal, pid).start();
            assertThat(kill.waitFor()).isZero();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static String read(Path file) {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static void waitFor(BooleanSupplier condition, String what) {
        waitFor(condition, TIMEOUT, () -> what);
    }

    /** Polls, since another process is waited for. */
    static void waitFor(BooleanSupplier condition, Duration timeout, Supplier<String> what) {
        waitFor(condition, Duration.ofMillis(10), timeout, what);
    }

    /** The same with a {@code pause} between two looks, for looks that start processes. */
    static void waitFor(BooleanSupplier condition, Duration pause, Duration timeout, Supplier<String> what) {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline >= 0) {
                throw new AssertionError("not within " + timeout + ": " + what.get());
            }
            try {
                Thread.sleep(pause);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
