package io.jrun.launcher.flight;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.comm.flight.FlightDump;
import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The dumps of one attempt of a job.
 *
 * @param folder the folder of the attempt, or of the job if the dumps are in the folders of several attempts
 * @param dumps by rank, one at least
 */
public record DumpFolder(Path folder, List<RankRecord> dumps) {
    /** The dump of a rank with a full recorder has about 200 kB. */
    private static final int MAX_DUMP_BYTES = 64 << 20;

    private static final Pattern ATTEMPT = Pattern.compile("attempt-(\\d{1,8})");

    public DumpFolder {
        dumps = List.copyOf(dumps);
    }

    /**
     * Reads the dumps in {@code directory}: the folder of an attempt, or of a job. For a job, the last attempt counts.
     * A process that continued from an earlier attempt has dumped into the folder of the attempt in which it began.
     *
     * @throws DumpException if there are no dumps, or one dump cannot be read
     */
    public static DumpFolder read(Path directory) {
        if (!Files.isDirectory(directory)) {
            throw new DumpException(
                    directory + " is not a directory; expected the log folder of a job, LOG_DIR/RUN_ID.");
        }
        try {
            Path given = directory.toAbsolutePath().normalize();
            int attemptRound = round(given);
            return attemptRound > 0
                    ? of(given, attemptRound, found(Objects.requireNonNull(given.getParent())))
                    : last(given);
        } catch (IOException e) {
            throw new DumpException("cannot read " + directory + ": " + FileError.reason(e, directory) + ".");
        }
    }

    private static DumpFolder last(Path job) throws IOException {
        Map<Path, RankRecord> found = found(job);
        IntStream begun = children(job, "attempt-*").stream().mapToInt(DumpFolder::round);
        IntStream dumped = found.values().stream().mapToInt(RankRecord::round);
        return of(job, IntStream.concat(begun, dumped).max().orElse(0), found);
    }

    private static DumpFolder of(Path directory, int round, Map<Path, RankRecord> found) {
        Map<Path, RankRecord> kept = new TreeMap<>(found);
        kept.values().removeIf(dump -> dump.round() != round);
        if (kept.isEmpty()) {
            throw new DumpException("no rank has left a " + FlightDump.FILE_NAME
                    + (round > 0 ? " of attempt " + (round - 1) : "") + " in " + directory
                    + ": the job did not fail in its collectives, or ran no Java workers.");
        }
        Set<Path> folders = kept.keySet().stream()
                .map(file -> file.resolve("../..").normalize())
                .collect(Collectors.toSet());
        return new DumpFolder(
                folders.size() == 1 ? folders.iterator().next() : directory,
                kept.values().stream()
                        .sorted(Comparator.comparingInt(RankRecord::rank))
                        .toList());
    }

    /**
     * All dumps in the attempts of a job's folder, and in the folder itself, where a user may have copied the folders
     * of ranks.
     */
    private static Map<Path, RankRecord> found(Path job) throws IOException {
        List<Path> folders = children(job, "attempt-*");
        folders.add(job);
        Map<Path, RankRecord> found = new TreeMap<>();
        for (Path folder : folders) {
            for (Path rank : children(folder, "rank-*")) {
                Path file = rank.resolve(FlightDump.FILE_NAME);
                if (Files.exists(file)) {
                    found.put(file, dump(file));
                }
            }
        }
        return found;
    }

    /**
     * The dump of one rank, if {@code folder} is the log folder of a rank that has dumped.
     *
     * @throws DumpException if the dump cannot be read
     */
    public static Optional<RankRecord> ofRank(Path folder) {
        Path file = folder.resolve(FlightDump.FILE_NAME);
        return Files.isRegularFile(file) ? Optional.of(dump(file)) : Optional.empty();
    }

    private static RankRecord dump(Path file) {
        try {
            return RankRecord.decode(UserFile.bytes(file, MAX_DUMP_BYTES));
        } catch (IOException e) {
            throw new DumpException(
                    file + " is no flight recorder's dump of this version of jrun: " + FileError.reason(e, file) + ".");
        }
    }

    /** Ranks of the job that have left no dump. */
    List<Integer> missing() {
        TreeSet<Integer> present =
                new TreeSet<>(dumps.stream().map(RankRecord::rank).toList());
        return IntStream.range(0, dumps.getFirst().worldSize())
                .filter(rank -> !present.contains(rank))
                .boxed()
                .toList();
    }

    /** The round of an attempt's folder: attempt-0 is round 1. 0 for another folder. */
    private static int round(Path attempt) {
        Path last = attempt.getFileName(); // null for the root folder
        Matcher name = ATTEMPT.matcher(last == null ? "" : last.toString());
        return name.matches() ? Integer.parseInt(name.group(1)) + 1 : 0;
    }

    private static List<Path> children(Path directory, String glob) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> paths = Files.newDirectoryStream(directory, glob)) {
            paths.forEach(found::add);
        }
        return found;
    }
}
