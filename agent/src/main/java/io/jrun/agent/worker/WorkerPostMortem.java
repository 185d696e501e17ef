package io.jrun.agent.worker;

import io.jrun.agent.log.LogBytes;
import io.jrun.comm.flight.FlightDump;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Reads what an ended worker has left in its log folder, for the report. */
final class WorkerPostMortem {
    private static final int TAIL_LINES = 20;
    private static final int TAIL_BYTES = 16 << 10;
    private static final int LINE_CHARS = 2000;

    private WorkerPostMortem() {}

    /** Returns the last lines of a log: at most 20, from the last 16 KiB. */
    static List<String> fileTail(Path log) {
        String text;
        boolean whole;
        try (LogBytes bytes = new LogBytes(log)) {
            long begin = bytes.firstKept(0); // first: a log that still changes its files may drop the end of before
            long end = Math.max(begin, bytes.end());
            long from = Math.max(begin, end - TAIL_BYTES);
            whole = from == begin;
            ByteBuffer buffer = ByteBuffer.allocate((int) (end - from));
            while (buffer.hasRemaining() && bytes.read(buffer, from + buffer.position()) > 0) {}
            text = new String(buffer.array(), 0, buffer.position(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            return List.of();
        }
        List<String> lines = text.lines().map(WorkerPostMortem::cut).toList();
        int skip = Math.max(
                whole || lines.size() <= 1 ? 0 : 1, lines.size() - TAIL_LINES); // the first line may be incomplete
        return lines.subList(skip, lines.size());
    }

    /** Returns the crash reports and heap dumps of the JVM. */
    static List<String> artifacts(Path logDir) {
        List<String> found = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(logDir, WorkerPostMortem::isArtifact)) {
            files.forEach(file -> found.add(file.toString()));
        } catch (IOException | DirectoryIteratorException e) {
            return List.of();
        }
        Collections.sort(found);
        return found;
    }

    private static boolean isArtifact(Path file) {
        String name = String.valueOf(file.getFileName());
        return name.startsWith("hs_err_pid") || name.endsWith(".hprof") || name.startsWith("core");
    }

    /** Removes the files of an earlier run of the same name, so that they do not count as files of this worker. */
    static void clear(Path logDir) throws IOException {
        Files.deleteIfExists(logDir.resolve("error.json"));
        Files.deleteIfExists(logDir.resolve(FlightDump.FILE_NAME));
        for (String stale : artifacts(logDir)) {
            Files.deleteIfExists(Path.of(stale));
        }
    }

    private static String cut(String line) {
        return line.length() <= LINE_CHARS ? line : line.substring(0, LINE_CHARS) + " ...";
    }
}
