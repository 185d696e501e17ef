package io.jrun.launcher.jobs;

import io.jrun.agent.log.LogBytes;
import io.jrun.agent.log.LogLimit;
import io.jrun.agent.log.LogTimes;
import io.jrun.comm.file.ControlCharacters;
import io.jrun.comm.record.RankRanges;
import io.jrun.launcher.cli.CommandOption;
import io.jrun.launcher.cli.JobsRequest;
import io.jrun.launcher.console.LogMultiplexer;
import io.jrun.launcher.console.RankPrefix;
import io.jrun.launcher.console.WorkerPlace;
import io.jrun.launcher.job.TerminalStreams;
import io.jrun.launcher.record.JobIndex.IndexedJob;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import io.jrun.launcher.record.JobRecordReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Prints the log files of a job's workers in whole lines, each with its rank and host. Confined to one thread. */
final class LogReader {
    private static final long POLL_MILLIS = 50;

    private final IndexedJob job;
    private final Optional<Set<Integer>> ranks;
    private final OptionalInt tail;
    private final OptionalLong since;
    private final boolean showsTimes;
    private final boolean follows;
    private final List<String> streams;
    private final LogMultiplexer mux;
    private final Consumer<String> notices;
    private boolean reportedTimes;
    private final Map<Path, Lines> files = new LinkedHashMap<>();

    /** @param request the ranks and files to print; the lines of a single rank have no prefix */
    LogReader(IndexedJob job, JobsRequest request, OutputStream out, Consumer<String> notices) {
        this.job = job;
        this.ranks = request.ranks();
        this.tail = request.tail();
        this.since = request.since();
        this.showsTimes = request.has(CommandOption.TIMESTAMPS);
        this.follows = request.has(CommandOption.FOLLOW);
        this.streams = request.has(CommandOption.STDERR) ? List.of("stderr") : List.of("stdout", "stderr");
        this.notices = notices;
        this.mux = new LogMultiplexer(
                out,
                out,
                new RankPrefix(ranks.isEmpty() || ranks.get().size() > 1, Optional.empty(), false, false),
                TerminalStreams.NONE);
    }

    /**
     * Prints the output of the last round's workers, rank after rank, each from the beginning of its process. With
     * {@code --follow} also prints new output until the end of the job.
     */
    void read() throws IOException, InterruptedException {
        boolean first = true;
        JobRecordReader reader = new JobRecordReader(job.logs());
        while (true) {
            JobRecord record = reader.read();
            boolean last = !follows || record.isOver();
            open(record);
            for (Lines lines : files.values()) {
                lines.print(last);
            }
            if (first) {
                reportMissing(record);
                first = false;
            }
            if (last) {
                return;
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
    }

    private void open(JobRecord record) throws IOException {
        for (RecordedWorker worker : record.workers()) {
            if (isShown(worker)) {
                for (String stream : streams) {
                    Path file = folder(worker).resolve(stream + ".log");
                    if (!files.containsKey(file) && LogBytes.exists(file)) {
                        files.put(file, lines(file, record.restarts(), worker, stream.equals("stderr")));
                    }
                }
            }
        }
    }

    private Lines lines(Path file, int attempt, RecordedWorker worker, boolean stderr) throws IOException {
        FileTail text = tail.isPresent() ? FileTail.ofLastLines(file, tail.getAsInt()) : new FileTail(file);
        if (since.isPresent()) {
            long begin =
                    times(file).map(times -> times.offsetAt(since.getAsLong())).orElse(0L);
            FileTail young = FileTail.ofLineAt(file, begin);
            text = young.position() > text.position() ? young : text;
        }
        return new Lines(file, text, attempt, worker, stderr);
    }

    /** The times of a file. Reports once that an older version of jrun has kept no times. */
    private Optional<LogTimes> times(Path file) throws IOException {
        Optional<LogTimes> times = LogTimes.read(file);
        if (times.isEmpty() && hasOutput(file) && !reportedTimes) {
            reportedTimes = true;
            notices.accept("the files of this job have no times, so all of their lines are shown, without times");
        }
        return times;
    }

    private static boolean hasOutput(Path file) throws IOException {
        try (LogBytes bytes = new LogBytes(file)) {
            return bytes.end() > 0;
        }
    }

    private boolean isShown(RecordedWorker worker) {
        return !worker.logFolder().isEmpty() && (ranks.isEmpty() || ranks.get().contains(worker.rank()));
    }

    private Path folder(RecordedWorker worker) {
        return job.logs().resolve(worker.logFolder());
    }

    /**
     * Names the files that are on other hosts: each node writes the files of its own ranks, and the folder need not be
     * shared.
     */
    private void reportMissing(JobRecord record) {
        TreeSet<Integer> missing = new TreeSet<>();
        TreeSet<String> hosts = new TreeSet<>();
        for (RecordedWorker worker : record.workers()) {
            if (isShown(worker) && !Files.exists(folder(worker))) {
                missing.add(worker.rank());
                hosts.add(worker.host());
            }
        }
        if (!missing.isEmpty()) {
            notices.accept("the files of " + RankRanges.withNoun(missing) + " are not here but on "
                    + String.join(", ", hosts) + ", in " + job.logs());
        }
    }

    /** One file. Text after the last newline waits for the rest of its line. */
    private final class Lines {
        private static final int LONGEST = 1 << 20;

        private final Path file;
        private final FileTail fileTail;
        private long offset; // of the first pending byte in the file
        private Optional<LogTimes> times = Optional.empty();
        private final LogMultiplexer.LogSource source;
        private final WorkerPlace place;
        private final ByteArrayOutputStream pending = new ByteArrayOutputStream();

        Lines(Path file, FileTail text, int attempt, RecordedWorker worker, boolean stderr) {
            this.file = file;
            this.fileTail = text;
            this.offset = text.position();
            this.source = new LogMultiplexer.LogSource(attempt, worker.rank(), stderr);
            this.place = new WorkerPlace(ControlCharacters.replaced(worker.host()), worker.localRank());
        }

        void print(boolean last) throws IOException {
            fileTail.copyTo(
                    new OutputStream() {
                        @Override
                        public void write(int b) {
                            pending.write(b);
                        }

                        @Override
                        public void write(byte[] bytes, int from, int length) throws IOException {
                            pending.write(bytes, from, length);
                            printWholeLines();
                        }
                    },
                    this::printGap);
            if (last && pending.size() > 0) {
                put(pending.toByteArray(), pending.size());
            }
        }

        /** Ends the line of which the rest was removed, and goes on with the next byte. */
        private void printGap(long removed) {
            pending.writeBytes((pending.size() == 0 ? "" : "\n").getBytes(StandardCharsets.US_ASCII));
            pending.writeBytes((LogLimit.notice(removed) + "\n").getBytes(StandardCharsets.US_ASCII));
            mux.print(source, place, pending.toByteArray(), false);
            pending.reset();
            offset = fileTail.position();
        }

        private void printWholeLines() throws IOException {
            byte[] bytes = pending.toByteArray();
            int end = bytes.length;
            while (end > 0 && bytes[end - 1] != '\n') {
                end--;
            }
            put(bytes, end == 0 && bytes.length > LONGEST ? bytes.length : end);
        }

        private void put(byte[] bytes, int end) throws IOException {
            if (end > 0) {
                byte[] lines = Arrays.copyOf(bytes, end);
                mux.print(source, place, showsTimes ? withTimes(lines) : lines, false);
                offset += end;
                pending.reset();
                pending.write(bytes, end, bytes.length - end);
            }
        }

        /** The lines, each with its time before it. */
        private byte[] withTimes(byte[] lines) throws IOException {
            if (times.isEmpty() || times.get().isOutdated(file)) {
                times = times(file);
            }
            ByteArrayOutputStream timed = new ByteArrayOutputStream();
            int begin = 0;
            while (begin < lines.length) {
                int end = begin;
                while (end < lines.length && lines[end] != '\n') {
                    end++;
                }
                end = Math.min(end + 1, lines.length);
                long at = offset + begin;
                timed.writeBytes(times.flatMap(known -> known.secondAt(at))
                        .map(second -> Instant.ofEpochSecond(second) + " ")
                        .orElse("")
                        .getBytes(StandardCharsets.US_ASCII));
                timed.write(lines, begin, end - begin);
                begin = end;
            }
            return timed.toByteArray();
        }
    }
}
