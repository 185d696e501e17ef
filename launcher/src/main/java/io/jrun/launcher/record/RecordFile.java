package io.jrun.launcher.record;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.record.JobRecord.State;
import io.jrun.launcher.record.JobRecord.Worker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;

/**
 * A record as a text file in the job's log folder: on each line a name, a blank, and a value. Names repeat where there are
 * several values. Not JSON, since its library would cost every start of a job a tenth of a second.
 */
public final class RecordFile {
    /** The console of a detached job, in its log folder. */
    public static final String CONSOLE = "console.log";

    private static final String NAME = "job.txt";
    private static final String FORMAT = "jrun-job 2";

    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private RecordFile() {}

    /** Whether {@code folder} is the log folder of a job that has a record. */
    public static boolean isIn(Path folder) {
        return Files.isRegularFile(folder.resolve(NAME));
    }

    /** Replaces the record in {@code folder}; a reader finds the old one or the new one. Readable by its user alone. */
    static void write(Path folder, JobRecord record) throws IOException {
        Path made = folder.resolve(NAME + ".new");
        try (SeekableByteChannel file = Files.newByteChannel(
                made,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE),
                OWNER_ONLY)) {
            ByteBuffer text = StandardCharsets.UTF_8.encode(text(record));
            while (text.hasRemaining()) {
                file.write(text);
            }
        }
        Files.move(made, folder.resolve(NAME), StandardCopyOption.ATOMIC_MOVE);
    }

    /**
     * The record in {@code folder}, LOST if it is not of the end and its launcher is no more.
     *
     * @throws IOException if there is none, or it is none of this version's
     */
    public static JobRecord read(Path folder) throws IOException {
        JobRecord record = written(folder);
        if (!hasLostItsLauncher(record)) {
            return record;
        }
        JobRecord last = written(folder); // what it wrote between the two looks, before it ended
        return last.state() == State.ENDED ? last : last.lost();
    }

    /** False for other machines' launchers: nobody here can tell. */
    private static boolean hasLostItsLauncher(JobRecord record) {
        ProcessIdentity launcher = record.launcher();
        return record.state() != State.ENDED && launcher.isHere() && !launcher.isAlive();
    }

    private static JobRecord written(Path folder) throws IOException {
        List<String> lines = Files.readAllLines(folder.resolve(NAME));
        if (lines.isEmpty() || !lines.getFirst().equals(FORMAT)) {
            throw new IOException(folder.resolve(NAME) + " is not a record of this version of jrun");
        }
        Map<String, List<String>> values = new HashMap<>();
        for (String line : lines.subList(1, lines.size())) {
            int blank = line.indexOf(' ');
            values.computeIfAbsent(line.substring(0, blank), _ -> new ArrayList<>())
                    .add(unescaped(line.substring(blank + 1)));
        }
        try {
            return record(values);
        } catch (IllegalArgumentException | IndexOutOfBoundsException | NoSuchElementException e) {
            throw new IOException(folder.resolve(NAME) + " is damaged: " + e.getMessage(), e);
        }
    }

    private static String text(JobRecord record) {
        StringBuilder text = new StringBuilder(FORMAT).append('\n');
        ProcessIdentity launcher = record.launcher();
        put(text, "run-id", record.runId());
        put(text, "state", record.state().name());
        put(
                text,
                "launcher",
                launcher.pid() + " " + launcher.startTicks() + " " + launcher.boot() + " " + launcher.host());
        put(text, "started", Long.toString(record.startedMillis()));
        put(text, "ended", Long.toString(record.endedMillis()));
        put(text, "exit-code", Integer.toString(record.exitCode()));
        put(text, "detached", Boolean.toString(record.detached()));
        put(text, "grace", Long.toString(record.graceMillis()));
        put(text, "restarts", Integer.toString(record.restarts()));
        put(text, "workdir", record.workdir().toString());
        record.typed().forEach(word -> put(text, "typed", word));
        record.command().forEach(word -> put(text, "word", word));
        record.variables().forEach(name -> put(text, "variable", name));
        record.hosts().forEach(host -> put(text, "host", host));
        for (Worker worker : record.workers()) {
            put(
                    text,
                    "worker",
                    worker.rank() + " " + worker.nodeRank() + " " + worker.localRank() + " " + worker.pid() + " "
                            + worker.host());
            put(text, "logs", worker.logFolder());
            put(text, "gpu", worker.gpu());
            put(text, "end", worker.end());
        }
        record.stragglers().forEach(straggler -> put(text, "straggler", StragglerRecord.of(straggler)));
        record.report().forEach(line -> put(text, "report", line));
        return text.toString();
    }

    private static JobRecord record(Map<String, List<String>> values) {
        String[] launcher = one(values, "launcher").split(" ", 4);
        return new JobRecord(
                one(values, "run-id"),
                State.valueOf(one(values, "state")),
                new ProcessIdentity(launcher[3], Long.parseLong(launcher[0]), launcher[2], Long.parseLong(launcher[1])),
                Long.parseLong(one(values, "started")),
                Long.parseLong(one(values, "ended")),
                Integer.parseInt(one(values, "exit-code")),
                Boolean.parseBoolean(one(values, "detached")),
                Long.parseLong(one(values, "grace")),
                Integer.parseInt(one(values, "restarts")),
                Path.of(one(values, "workdir")),
                all(values, "typed"),
                all(values, "word"),
                all(values, "variable"),
                all(values, "host"),
                workers(all(values, "worker"), all(values, "logs"), all(values, "gpu"), all(values, "end")),
                all(values, "straggler").stream().map(StragglerRecord::read).toList(),
                all(values, "report"));
    }

    private static List<Worker> workers(List<String> places, List<String> logs, List<String> gpus, List<String> ends) {
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < places.size(); i++) {
            String[] place = places.get(i).split(" ", 5);
            workers.add(new Worker(
                    Integer.parseInt(place[0]),
                    Integer.parseInt(place[1]),
                    Integer.parseInt(place[2]),
                    place[4],
                    Long.parseLong(place[3]),
                    logs.get(i),
                    gpus.get(i),
                    ends.get(i)));
        }
        return workers;
    }

    private static String one(Map<String, List<String>> values, String name) {
        return all(values, name).getFirst();
    }

    private static List<String> all(Map<String, List<String>> values, String name) {
        return values.getOrDefault(name, List.of());
    }

    private static void put(StringBuilder text, String name, String value) {
        text.append(name).append(' ');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '\\' -> text.append("\\\\");
                case '\n' -> text.append("\\n");
                case '\r' -> text.append("\\r");
                default -> text.append(c);
            }
        }
        text.append('\n');
    }

    private static String unescaped(String text) {
        StringBuilder value = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '\\' && i + 1 < text.length()) {
                i++;
                c = switch (text.charAt(i)) {
                    case 'n' -> '\n';
                    case 'r' -> '\r';
                    default -> text.charAt(i);
                };
            }
            value.append(c);
        }
        return value.toString();
    }
}
