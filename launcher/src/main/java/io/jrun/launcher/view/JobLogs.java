package io.jrun.launcher.view;

import io.jrun.agent.log.LogBytes;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The output of the workers of a job's last round, as far as the log files are on this machine: the last lines in the
 * order in which they were read, and a search through the files. Thread-safe.
 */
public final class JobLogs {
    /** Lines that a page shows. */
    private static final int MOST_LINES = 5000;

    /** Bytes of all files together that the first call reads. */
    private static final long FIRST_BYTES = 1L << 20;

    private static final int MOST_MATCHES = 500;
    private static final long MOST_SEARCHED_BYTES = 64L << 20;
    private static final List<String> STREAMS = List.of("stdout", "stderr");

    private final JobView view;
    private final Map<Path, LogTail> tails = new LinkedHashMap<>();
    private final ArrayDeque<NumberedLine> lines = new ArrayDeque<>();
    private long number;

    private record NumberedLine(long number, Map<String, Object> json) {}

    public JobLogs(JobView view) {
        this.view = view;
    }

    /** Lines as JSON: those after line {@code since}, 0 for all that are kept, with the number of the last line. */
    public synchronized Map<String, Object> since(long since) throws IOException {
        JobRecord record = view.record();
        boolean isOver = record.isOver();
        long share = FIRST_BYTES / Math.max(1, record.workers().size());
        for (RecordedWorker worker : record.workers()) {
            for (String stream : STREAMS) {
                Path file = file(worker, stream);
                if (file != null) {
                    tails.computeIfAbsent(file, LogTail::new)
                            .read(Math.max(share, 4096), isOver, text -> add(worker.rank(), stream, text));
                }
            }
        }
        List<Map<String, Object>> shown = lines.stream()
                .filter(line -> line.number() > since)
                .map(NumberedLine::json)
                .toList();
        return Map.of("last", number, "lines", shown);
    }

    private @Nullable Path file(RecordedWorker worker, String stream) {
        return view.logFolder(worker)
                .map(folder -> folder.resolve(stream + ".log"))
                .orElse(null);
    }

    private void add(int rank, String stream, String text) {
        if (lines.size() == MOST_LINES) {
            lines.remove();
        }
        lines.add(new NumberedLine(++number, line(rank, stream, text)));
    }

    private static Map<String, Object> line(int rank, String stream, String text) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("rank", rank);
        line.put("stream", stream);
        line.put("text", text);
        return line;
    }

    /**
     * Searches the files. Letters match in both cases.
     *
     * @param rank the rank whose files are searched; empty for all
     * @return JSON: {@code lines[]}, and {@code cut} if there are more matches or more text than a search reads
     */
    public Map<String, Object> search(String text, OptionalInt rank) throws IOException {
        LogSearch search = new LogSearch(text);
        List<Map<String, Object>> found = new ArrayList<>();
        long left = MOST_SEARCHED_BYTES;
        for (RecordedWorker worker : view.record().workers()) {
            for (String stream : STREAMS) {
                Path file = file(worker, stream);
                boolean isChosen = rank.isEmpty() || rank.getAsInt() == worker.rank();
                if (isChosen && file != null && LogBytes.exists(file)) {
                    left -= search.read(
                            file,
                            left,
                            MOST_MATCHES - found.size(),
                            line -> found.add(line(worker.rank(), stream, line)));
                }
            }
        }
        return Map.of("lines", found, "cut", left <= 0 || found.size() >= MOST_MATCHES);
    }
}
