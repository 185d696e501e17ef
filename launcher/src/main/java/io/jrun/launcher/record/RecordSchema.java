package io.jrun.launcher.record;

import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The names of a record's files, and the first line of both: name and version of the schema. docs/job-events.md
 * describes the schema. Stateless.
 */
public final class RecordSchema {
    /** All events but metrics. */
    public static final String EVENTS = "events.jsonl";

    /** The metrics have a file of their own, so that the events of a long training can be read fast. */
    public static final String METRICS = "metrics.jsonl";

    /** The console of a detached job, in its log folder. */
    public static final String CONSOLE = "console.log";

    private static final String NAME = "jrun-job-events";
    private static final int MAJOR = 1;

    /** Raised when fields or event types are added. */
    private static final int MINOR = 2;

    private RecordSchema() {}

    static String header() {
        Map<String, Object> header = new LinkedHashMap<>();
        header.put("schema", NAME);
        header.put("version", MAJOR + "." + MINOR);
        return JsonLine.of(header);
    }

    /**
     * Checks the first line of {@code file}.
     *
     * @throws IOException with one line if this version of jrun cannot read the file
     */
    static void checkHeader(String line, Path file) throws IOException {
        Map<String, Object> header = object(line, file);
        if (!NAME.equals(header.get("schema"))) {
            throw notARecord(file);
        }
        String version = String.valueOf(header.get("version"));
        if (!version.startsWith(MAJOR + ".")) {
            throw new IOException(file + " has version " + version + " of the schema, and this jrun reads version "
                    + MAJOR + "; read it with the version of jrun that wrote it");
        }
    }

    private static Map<String, Object> object(String line, Path file) throws IOException {
        try {
            return JsonLine.read(line);
        } catch (IOException e) {
            throw notARecord(file);
        }
    }

    private static IOException notARecord(Path file) {
        return new IOException(file + " is not the record of a job");
    }
}
