package io.jrun.agent.node;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A program of this node that has run to its end.
 *
 * @param output stdout and stderr
 */
public record ProgramRun(int exitCode, String output) {
    private static final int MAX_CHARS = 300;

    /**
     * Runs a program with an empty stdin. The program gets TERM at any end of this process.
     *
     * @param environment variables besides those of this process
     * @param folder the working folder; a relative path begins at that of this process
     * @return empty if the program has not ended within the deadline; the program is then killed
     * @throws IOException if the program cannot be started
     */
    public static Optional<ProgramRun> of(
            List<String> command, Map<String, String> environment, Path folder, Duration deadline)
            throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of("setpriv", "--pdeathsig", "TERM"));
        words.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(words)
                .directory(folder.toAbsolutePath().toFile())
                .redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        try {
            process.getOutputStream().close();
            CompletableFuture<String> output = new CompletableFuture<>();
            Thread.ofPlatform()
                    .daemon()
                    .name("jrun-program-output")
                    .start(() -> collect(process.getInputStream(), output));
            String text = output.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
            return process.waitFor(deadline.toMillis(), TimeUnit.MILLISECONDS)
                    ? Optional.of(new ProgramRun(process.exitValue(), text))
                    : Optional.empty();
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IOException(e.getCause());
        } finally {
            process.destroyForcibly();
        }
    }

    private static void collect(InputStream stream, CompletableFuture<String> output) {
        try {
            output.complete(new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            output.completeExceptionally(e);
        }
    }

    /** The last line of the output, cut after 300 characters; {@code no message} without output. */
    public String lastLine() {
        return cut(
                output.strip().lines().reduce("no message", (_, line) -> line).strip());
    }

    /** The first line of the output that begins with {@code prefix}, without the prefix, cut like the last line. */
    public String firstLineAfter(String prefix) {
        return cut(output.lines()
                .filter(line -> line.startsWith(prefix))
                .findFirst()
                .orElse(prefix + "no message")
                .substring(prefix.length()));
    }

    private static String cut(String line) {
        return line.length() > MAX_CHARS ? line.substring(0, MAX_CHARS) + "..." : line;
    }
}
