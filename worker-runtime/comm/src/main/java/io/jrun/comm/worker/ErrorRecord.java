package io.jrun.comm.worker;

import static io.jrun.comm.worker.JsonText.quoted;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
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
    private static final Set<ErrorCode> OF_OTHER_RANKS = EnumSet.of(
            ErrorCode.COLLECTIVE_TIMEOUT,
            ErrorCode.COLLECTIVE_MISMATCH,
            ErrorCode.PEER_LOST,
            ErrorCode.RENDEZVOUS_TIMEOUT);

    /** The limit of causes. The causes of an exception may form a circle. */
    private static final int MAX_CAUSES = 16;

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
            OutputFile.replace(target, json(failure, text).getBytes(UTF_8));
        } catch (IOException e) {
            System.err.println("jrun: cannot write the error record " + target + ": " + FileError.reason(e, target));
        }
    }

    /**
     * Returns the failure of a group that has caused {@code failure} and that names other ranks: the awaited, lost or
     * disagreeing rank. Empty if there is none.
     */
    private static String groupFailure(Throwable failure) {
        Throwable cause = failure;
        for (int depth = 0; cause != null && depth < MAX_CAUSES; depth++) {
            if (cause instanceof CommException comm && OF_OTHER_RANKS.contains(comm.code())) {
                return String.valueOf(comm.getMessage()).lines().findFirst().orElse("");
            }
            cause = cause.getCause();
        }
        return "";
    }

    private String json(Throwable failure, FailureText text) {
        return "{\"message\":{\"message\":" + quoted(failure.toString())
                + ",\"extraInfo\":{\"java_callstack\":" + quoted(text.shortText())
                + ",\"full_callstack\":" + quoted(text.fullText())
                + ",\"group_failure\":" + quoted(groupFailure(failure))
                + ",\"timestamp\":\"" + System.currentTimeMillis() / 1000 + "\""
                + ",\"rank\":" + quoted(rank) + ",\"host\":" + quoted(host)
                + ",\"pid\":" + ProcessHandle.current().pid() + "}}}\n";
    }
}
