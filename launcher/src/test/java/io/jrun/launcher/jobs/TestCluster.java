package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** A Slurm cluster of scripts/testbed/slurm, of this test JVM. */
final class TestCluster implements AutoCloseable {
    private static final String SCRIPT = JRun.SCRIPTS.resolve("testbed/slurm").toString();

    private static final String ID = "it" + Leftovers.OWNER;

    /** Slurm itself takes seconds to start a job again; the rest is for a busy machine. */
    private static final Duration TIMEOUT = Duration.ofSeconds(100);

    /** Far above the cluster's SIGTERM to SIGKILL of 20 s: a test must not depend on it. */
    private static final long COMMAND_SECONDS = 90;

    /** Each look at Slurm starts four processes. */
    private static final Duration PAUSE = Duration.ofMillis(250);

    private record Ended(int exitCode, String output) {}

    private TestCluster() {}

    /** Brings up n1 to n{@code count}, each with 8 GPUs; skips the tests, with the reason, on a machine that cannot. */
    static TestCluster up(int count) {
        Ended check = run("check");
        assumeTrue(check.exitCode() == 0, "skipped: " + check.output());
        Ended up = run("up", "--id", ID, Integer.toString(count), "--kill-wait", "20");
        assertThat(up.exitCode()).as(up.output()).isZero();
        return new TestCluster();
    }

    /** The prefix that runs a command on the login node, as the same process. */
    List<String> with(String... words) {
        List<String> command = new ArrayList<>(List.of(SCRIPT, "exec", "--id", ID));
        command.addAll(List.of(words));
        return command;
    }

    /** Runs a command on the login node to its end, which must be a good one; returns what it printed. */
    String slurm(String... words) {
        List<String> command = new ArrayList<>(List.of("exec", "--id", ID));
        command.addAll(List.of(words));
        return check(command.toArray(String[]::new));
    }

    /**
     * Runs a command on {@code node}, among its processes, to its end, which must be a good one; returns what it
     * printed.
     */
    String on(String node, String... words) {
        return check(StandingAgent.join(new String[] {"on", "--id", ID, node}, words));
    }

    /** Powers a node off, and removes the sockets of its agents, because no process of the node is left. */
    void crash(String node) {
        String sockets = on(
                node,
                "sh",
                "-c",
                "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | sed -n 's/^JRUN_AGENT_SOCKET=//p' | sort -u");
        check("crash", "--id", ID, node);
        try {
            for (String socket : sockets.lines().toList()) {
                Files.deleteIfExists(Path.of(socket));
                Files.deleteIfExists(Path.of(socket).getParent());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** And on again. */
    void boot(String node) {
        check("boot", "--id", ID, node);
    }

    private static String check(String... words) {
        Ended ended = run(words);
        assertThat(ended.exitCode()).as(ended.output()).isZero();
        return ended.output();
    }

    /**
     * Submits a batch job.
     *
     * @param script of the shell; it has {@code environment} and nothing else of this JVM's
     * @return its id
     */
    String submit(Path folder, Map<String, String> environment, List<String> options, String script) {
        StringBuilder text = new StringBuilder("#!/bin/bash\n");
        environment.forEach((name, value) ->
                text.append("export ").append(name).append("='").append(value).append("'\n"));
        text.append("cd '").append(folder).append("'\n").append(script).append('\n');
        try {
            Path file = Files.writeString(folder.resolve("job.sh"), text);
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
            List<String> words = new ArrayList<>(List.of("sbatch", "--parsable", "--export=NIL", "--open-mode=append"));
            words.add("--output=" + folder.resolve("slurm-%j.out"));
            words.addAll(options);
            words.add(file.toString());
            return slurm(words.toArray(String[]::new));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The output of a job so far. */
    static String output(Path folder, String job) {
        Path file = folder.resolve("slurm-" + job + ".out");
        try {
            return Files.exists(file) ? new String(Files.readAllBytes(file), StandardCharsets.UTF_8) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until a job has printed {@code text}. */
    static void awaitOutput(Path folder, String job, String text) {
        JRun.waitFor(
                () -> output(folder, job).contains(text),
                TIMEOUT,
                () -> "output '" + text + "' of job " + job + "; it is:\n" + output(folder, job));
    }

    /** Waits until a job is over and its nodes are free; returns its state, as COMPLETED. */
    String awaitEnd(Path folder, String job) {
        await(
                () -> slurm("squeue", "--noheader", "--jobs", job).isEmpty(),
                () -> "end of job " + job + "; its output:\n" + output(folder, job));
        return field(job, "JobState");
    }

    /** Queues a running job again, and lets it start soon. */
    void requeue(String job) {
        slurm("scontrol", "requeue", job);
        await(() -> field(job, "JobState").equals("PENDING"), () -> "job " + job + " to be pending");
        // Slurm waits 10 s by itself. Within the second of the old start's end it refuses the new one: its credentials
        // are dated in seconds, and the node takes that of the new start for the old one ("Job credential revoked").
        slurm("scontrol", "update", "JobId=" + job, "StartTime=now+2");
    }

    /** Waits until Slurm says something. */
    static void await(BooleanSupplier condition, Supplier<String> what) {
        JRun.waitFor(condition, PAUSE, TIMEOUT, what);
    }

    /** What {@code scontrol show job} says of a job. */
    String field(String job, String name) {
        for (String word : slurm("scontrol", "--oneliner", "show", "job", job).split("\\s+", -1)) {
            if (word.startsWith(name + "=")) {
                return word.substring(name.length() + 1);
            }
        }
        throw new AssertionError("scontrol says nothing of " + name + " of job " + job);
    }

    @Override
    public void close() {
        run("down", "--id", ID);
        assertThat(run("list").output()).doesNotContain(ID);
    }

    private static Ended run(String... words) {
        List<String> command = new ArrayList<>(List.of(SCRIPT));
        command.addAll(List.of(words));
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(COMMAND_SECONDS, TimeUnit.SECONDS))
                    .as(output)
                    .isTrue();
            return new Ended(process.exitValue(), output.strip());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
