package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Hosts of scripts/testbed/hosts, in a testbed of this test JVM. */
final class TestHosts implements AutoCloseable {
    private static final String SCRIPT = JRun.SCRIPTS.resolve("testbed/hosts").toString();

    private static final String ID = "it" + Leftovers.OWNER;

    private record Ended(int exitCode, String output) {}

    private TestHosts() {}

    /**
     * Brings up h1 to h{@code count}; skips the tests, with the reason, on a machine that cannot.
     *
     * @param options more words for {@code hosts up}
     */
    static TestHosts up(int count, String... options) {
        Ended check = run("check");
        assumeTrue(check.exitCode() == 0, "skipped: " + check.output());
        Ended up = run(StandingAgent.join(new String[] {"up", Integer.toString(count), "--id", ID}, options));
        assertThat(up.exitCode()).as(up.output()).isZero();
        return new TestHosts();
    }

    /** The prefix that runs a command on {@code host}, as the same process. */
    List<String> on(String host) {
        return List.of(SCRIPT, "exec", "--id", ID, host);
    }

    /** Runs a shell script on {@code host} to its end, which must be a good one. */
    void shell(String host, String script) {
        Ended ended = run("exec", "--id", ID, host, "bash", "-c", script);
        assertThat(ended.exitCode()).as(ended.output()).isZero();
    }

    /** Kills everything on {@code host} at once, as a loss of power does. */
    void killAll(String host) {
        Ended ended = run("kill", "--id", ID, host);
        assertThat(ended.exitCode()).as(ended.output()).isZero();
    }

    /** Pulls the cable of {@code host}. */
    void unplug(String host) {
        Ended ended = run("link", "--id", ID, host, "down");
        assertThat(ended.exitCode()).as(ended.output()).isZero();
    }

    /** Plugs it in again. */
    void plugIn(String host) {
        Ended ended = run("link", "--id", ID, host, "up");
        assertThat(ended.exitCode()).as(ended.output()).isZero();
    }

    @Override
    public void close() {
        assertThat(list()).isNotEmpty();
        try {
            // A process that was killed, or whose connection was closed, needs a moment to end.
            JRun.waitFor(
                    () -> list().stream().allMatch(line -> line.endsWith(" 0 processes")),
                    Duration.ofMinutes(1),
                    () -> "end of all processes: " + list());
        } finally {
            run("down", "--id", ID);
        }
        assertThat(list()).isEmpty();
    }

    /** The names belong to this testbed alone: other tests may be running. */
    private static List<String> list() {
        return run("list")
                .output()
                .lines()
                .filter(line -> line.startsWith(ID + " "))
                .toList();
    }

    private static Ended run(String... words) {
        List<String> command = new ArrayList<>(List.of(SCRIPT));
        command.addAll(List.of(words));
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).as(output).isTrue();
            return new Ended(process.exitValue(), output.strip());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
