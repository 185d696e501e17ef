package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Running;
import java.nio.file.Path;
import java.util.stream.Stream;

/** {@code jrun agent} on a port of its own choice, and the options that make a job use it. */
record StandingAgent(Running process, Path secretFile, int port) implements AutoCloseable {
    private static final String GREETING = "jrun agent: listening on 127.0.0.1:";

    /** Starts one with a new secret in {@code folder}. */
    static StandingAgent start(JRun jrun, Path folder) {
        return startWith(jrun, folder.resolve("secret"));
    }

    /** Starts one with this {@code secretFile}. */
    static StandingAgent startWith(JRun jrun, Path secretFile) {
        Running process = jrun.start("agent", "--secret-file=" + secretFile, "--listen=127.0.0.1:0")
                .awaitOutput("\n");
        String line = process.out().strip();
        assertThat(line).startsWith(GREETING);
        return new StandingAgent(process, secretFile, Integer.parseInt(line.substring(GREETING.length())));
    }

    String[] options() {
        return optionsWithSecret(secretFile);
    }

    String[] optionsWithSecret(Path file) {
        return new String[] {"--hosts=127.0.0.1", "--agent-port=" + port, "--secret-file=" + file};
    }

    /** The words of a job on this agent. */
    String[] with(String... job) {
        return join(options(), job);
    }

    /** Ends the agent as its user does, and waits. */
    @Override
    public void close() {
        process.signal("TERM");
        assertThat(process.await().exitCode()).isEqualTo(143);
    }

    static String[] join(String[] first, String... second) {
        return Stream.of(first, second).flatMap(Stream::of).toArray(String[]::new);
    }
}
