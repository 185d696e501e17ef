package io.jrun.agent.worker;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jrun.agent.proto.WorkerErrorReport;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Reads the error record of a worker. jrun's runtime and torch's {@code @record} use one format, {@code
 * {"message": {"message": ..., "extraInfo": {"java_callstack" or "py_callstack": ...}}}},
 * and torch also writes {@code {"message": "text"}}. Source: torch/distributed/elastic/multiprocessing/errors.
 */
final class ErrorRecords {
    /** The limit of a record. A stack trace is a few kB, and a file of another kind must not fill the report. */
    private static final int MAX_BYTES = 1 << 20;

    private static final int MAX_TEXT = 64 << 10;

    private ErrorRecords() {}

    /** Returns the record of the worker itself, or the crash of its JVM. Empty if the worker has left neither. */
    static Optional<WorkerErrorReport> of(Path logDir) {
        return read(logDir.resolve("error.json"))
                .or(() -> JvmCrash.in(logDir)
                        .map(crash ->
                                WorkerErrorReport.newBuilder().setCrash(crash).build()));
    }

    static Optional<WorkerErrorReport> read(Path file) {
        byte[] bytes = head(file);
        if (bytes.length == 0) {
            return Optional.empty();
        }
        try {
            return Optional.of(parse(new ObjectMapper().readTree(bytes)));
        } catch (JsonProcessingException e) {
            String text = new String(bytes, StandardCharsets.UTF_8).strip();
            return Optional.of(WorkerErrorReport.newBuilder()
                    .setMessage("(not in torch's error-file format) " + cut(text))
                    .build());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static byte[] head(Path file) {
        if (!Files.isRegularFile(file)) {
            return new byte[0];
        }
        try (var in = Files.newInputStream(file)) {
            return in.readNBytes(MAX_BYTES);
        } catch (IOException e) {
            return new byte[0];
        }
    }

    private static WorkerErrorReport parse(JsonNode root) {
        JsonNode message = root.path("message");
        JsonNode extra = message.path("extraInfo");
        String text = message.isObject() ? message.path("message").asText() : message.asText();
        String stack =
                extra.path("java_callstack").asText(extra.path("py_callstack").asText());
        return WorkerErrorReport.newBuilder()
                .setMessage(cut(text.isEmpty() ? root.toString() : text))
                .setStack(cut(stack))
                .setGroupFailure(cut(extra.path("group_failure").asText()))
                .build();
    }

    private static String cut(String text) {
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + " ...";
    }
}
