package io.jrun.launcher;

import io.jrun.agent.AgentSecret;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Reads the secret of a job in an agent: a line on stdin, which no other user can see. Stateless. */
final class JobSecret {
    /**
     * The time to wait for the secret. A launcher writes the secret at once. After this time the agent prints an error,
     * for a user who started the agent in a shell.
     */
    private static final long LIMIT_SECONDS = 60;

    private static final int MAX_BYTES = 4096;

    private JobSecret() {}

    /** Reads the first line of {@code in}. Waits a minute at most. */
    static AgentSecret read(InputStream in) throws InterruptedException {
        CompletableFuture<String> line = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("jrun-stdin").start(() -> {
            try {
                line.complete(firstLine(in));
            } catch (IOException e) {
                line.completeExceptionally(new UncheckedIOException(e));
            }
        });
        try {
            return AgentSecret.of(line.get(LIMIT_SECONDS, TimeUnit.SECONDS).getBytes(StandardCharsets.UTF_8));
        } catch (TimeoutException | ExecutionException | IllegalArgumentException e) {
            throw new UsageException(
                    "jrun agent --launcher reads its job's secret as the first line of stdin, and there is none. jrun"
                            + " starts such agents itself (--launch ssh); to run one by hand use --listen.");
        }
    }

    /** Reads byte by byte, because the bytes after the line belong to another reader. */
    private static String firstLine(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next >= 0 && next != '\n' && line.length() < MAX_BYTES; next = in.read()) {
            line.append((char) next);
        }
        return line.toString().strip();
    }
}
