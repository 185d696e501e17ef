package io.jrun.comm.worker;

import static io.jrun.comm.worker.JsonText.quoted;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The error file of a worker, in the format of torch's error files. Only the first failure of a process is recorded.
 * Thread-safe. Source: torch/distributed/elastic/multiprocessing/errors.
 *
 * <p>The class reads its three environment variables itself, without {@code Distributed.init()}: a program may fail
 * before main, may never join, and may have malformed variables.
 */
final class ErrorRecord {
    private final @Nullable Path file;
    private final String rank;
    private final String host;
    private final AtomicBoolean written = new AtomicBoolean();

    private ErrorRecord(@Nullable Path file, String rank, String host) {
        this.file = file;
        this.rank = rank;
        this.host = host;
    }

    /** Makes the record of this process. The record writes nothing if the agent has named no file. */
    static ErrorRecord ofProcess() {
        Map<String, String> env = System.getenv();
        String file = env.getOrDefault("JRUN_ERROR_FILE", "");
        return new ErrorRecord(
                file.isEmpty() ? null : Path.of(file),
                env.getOrDefault("RANK", "0"),
                env.getOrDefault("JRUN_HOST", "localhost"));
    }

    /** Writes {@code failure}. The file appears complete or not at all. */
    void write(Throwable failure, FailureText text) {
        Path target = file;
        if (target == null || !written.compareAndSet(false, true)) {
            return;
        }
        try {
            Path partial = target.resolveSibling(target.getFileName() + ".partial");
            Files.writeString(partial, json(failure, text), UTF_8);
            Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            System.err.println("jrun: cannot write the error record " + target + ": " + e.getMessage());
        }
    }

    private String json(Throwable failure, FailureText text) {
        return "{\"message\":{\"message\":" + quoted(failure.toString())
                + ",\"extraInfo\":{\"java_callstack\":" + quoted(text.shortText())
                + ",\"full_callstack\":" + quoted(text.fullText())
                + ",\"timestamp\":\"" + System.currentTimeMillis() / 1000 + "\""
                + ",\"rank\":" + quoted(rank) + ",\"host\":" + quoted(host)
                + ",\"pid\":" + ProcessHandle.current().pid() + "}}}\n";
    }
}
