package io.jrun.tokenizers;

import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import io.jrun.train.data.DataException;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A process with the native library, see {@link TokenizerMain}. The library ends its process at some expressions, or
 * needs time and memory without a limit: this process then goes on. For one thread at a time.
 */
final class TokenizerProcess implements AutoCloseable {
    /** The process checks its own limits. This one is for a process that is stopped. */
    private static final long DEADLINE_MINUTES = 10;

    private static final long END_SECONDS = 10;
    private static final int EXIT_OUT_OF_HEAP = 3; // of -XX:+ExitOnOutOfMemoryError

    private static final List<String> OPTIONS = List.of(
            "-Xms16m",
            "-Xmx2g",
            "-Xss1m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:+SuppressFatalErrorMessage",
            "-XX:-CreateCoredumpOnCrash",
            "-XX:+DisplayVMOutputToStderr",
            "--enable-native-access=ALL-UNNAMED");

    /** Options of the program's JVM are not for this one; an agent among them could take a port that is in use. */
    private static final List<String> FOREIGN_OPTIONS =
            List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS");

    private final Process process;
    private final DataOutputStream requests;
    private final DataInputStream replies;
    private @Nullable TokenizerDefinition loaded;

    private TokenizerProcess(Process process) {
        this.process = process;
        this.requests = new DataOutputStream(new BufferedOutputStream(process.getOutputStream()));
        this.replies = new DataInputStream(new BufferedInputStream(process.getInputStream()));
    }

    /** The limits of a request, beside the use of the process before the request. */
    record Budget(int cpuMillis, int memoryMiB) {
        private static final double MIB = 1 << 20;

        /** A budget that grows with the bytes of the request. */
        static Budget of(int cpuMillis, int memoryMiB, int bytes, int cpuMillisPerMiB, int memoryPerByte) {
            return new Budget(
                    (int) (cpuMillis + bytes / MIB * cpuMillisPerMiB), (int) (memoryMiB + bytes / MIB * memoryPerByte));
        }
    }

    /** The process has ended during a request. The message completes the sentence "the tokenizer ...". */
    static final class EndedException extends Exception {
        private static final long serialVersionUID = 1L;

        EndedException(String message) {
            super(message);
        }
    }

    /** @throws DataException if the process does not start */
    static TokenizerProcess start() {
        String classPath = Stream.of(TokenizerMain.class, TokenizersLibrary.class)
                .map(TokenizerProcess::location)
                .distinct()
                .reduce((a, b) -> a + File.pathSeparator + b)
                .orElseThrow();
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = Stream.of(
                        Stream.of(java.toString()),
                        OPTIONS.stream(),
                        Stream.of("-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir")),
                        Stream.of("-cp", classPath, TokenizerMain.class.getName()))
                .flatMap(words -> words)
                .toList();
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
        FOREIGN_OPTIONS.forEach(builder.environment()::remove);
        try {
            return new TokenizerProcess(builder.start());
        } catch (IOException e) {
            throw new DataException("cannot start the process of the tokenizer: " + e.getMessage(), e);
        }
    }

    /** Whether the last tokenizer of the process is this one. */
    boolean hasLoaded(TokenizerDefinition definition) {
        return definition.equals(loaded);
    }

    /** @throws IllegalArgumentException if the library does not take the definition, in the words of the library */
    void load(TokenizerDefinition definition, Budget budget) throws EndedException {
        if (!hasLoaded(definition)) {
            loaded = null;
            byte[] _ = call(TokenizerMain.LOAD, budget, definition.json().getBytes(StandardCharsets.UTF_8));
            loaded = definition;
        }
    }

    void unload(Budget budget) throws EndedException {
        loaded = null;
        byte[] _ = call(TokenizerMain.UNLOAD, budget, new byte[0]);
    }

    /** @throws IllegalArgumentException in the words of the library */
    byte[] call(byte kind, Budget budget, byte[] content) throws EndedException {
        CompletableFuture<Void> deadline = new CompletableFuture<>();
        CompletableFuture<Void> _ = deadline.orTimeout(DEADLINE_MINUTES, TimeUnit.MINUTES)
                .whenComplete((_, timeout) -> {
                    if (timeout != null) {
                        process.destroyForcibly();
                    }
                });
        byte status;
        byte[] reply;
        try {
            requests.writeByte(kind);
            requests.writeInt(budget.cpuMillis());
            requests.writeInt(budget.memoryMiB());
            requests.writeInt(content.length);
            requests.write(content);
            requests.flush();
            status = replies.readByte();
            reply = replies.readNBytes(replies.readInt());
        } catch (IOException e) {
            EndedException ended = new EndedException(reason(budget));
            ended.initCause(e);
            throw ended;
        } finally {
            deadline.complete(null);
        }
        String words = status == TokenizerMain.DONE ? "" : new String(reply, StandardCharsets.UTF_8);
        if (status == TokenizerMain.UNUSABLE) {
            throw new DataException(words);
        }
        if (status == TokenizerMain.REFUSED) {
            throw new IllegalArgumentException(words);
        }
        return reply;
    }

    private String reason(Budget budget) {
        try {
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                return "did not answer when it had";
            }
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return "was interrupted when it had";
        }
        return switch (process.exitValue()) {
            case UsageLimit.OUT_OF_TIME ->
                String.format(Locale.ROOT, "took more than %.1f s of CPU time", budget.cpuMillis() / 1e3);
            case UsageLimit.OUT_OF_MEMORY, EXIT_OUT_OF_HEAP ->
                "took more than " + budget.memoryMiB() + " MiB of memory";
            default -> "ended with exit code " + process.exitValue() + " when it had";
        };
    }

    boolean isAlive() {
        return process.isAlive();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    private static String location(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .toString();
        } catch (URISyntaxException e) {
            throw new IllegalStateException("each file has a path", e);
        }
    }
}
