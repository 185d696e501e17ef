package io.jrun.launcher.flight;

import io.jrun.comm.record.FlightDump;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * The dumps of one attempt of a job.
 *
 * @param folder the attempt's
 * @param dumps by rank, at least one
 */
public record DumpFolder(Path folder, List<Dump> dumps) {
    public DumpFolder {
        dumps = List.copyOf(dumps);
    }

    /**
     * Reads the dumps of {@code directory}: an attempt's folder, or a job's, of which the last attempt counts.
     *
     * @throws DumpException if there are none, or one cannot be understood
     */
    public static DumpFolder read(Path directory) {
        if (!Files.isDirectory(directory)) {
            throw new DumpException(
                    directory + " is not a directory; expected the log folder of a job, LOG_DIR/RUN_ID.");
        }
        try {
            Path folder = lastAttempt(directory);
            List<Dump> dumps = new ArrayList<>();
            for (Path rank : children(folder, "rank-*")) {
                Path file = rank.resolve(FlightDump.FILE_NAME);
                if (Files.exists(file)) {
                    dumps.add(DumpReader.read(file));
                }
            }
            if (dumps.isEmpty()) {
                throw new DumpException("no rank has left a " + FlightDump.FILE_NAME + " in " + folder
                        + ": the job did not fail in its collectives, or ran no Java workers.");
            }
            dumps.sort(Comparator.comparingInt(Dump::rank));
            return new DumpFolder(folder, dumps);
        } catch (IOException e) {
            throw new DumpException("cannot read " + directory + ": " + e);
        }
    }

    /** Ranks of the job that have left no dump. */
    List<Integer> missing() {
        TreeSet<Integer> present = new TreeSet<>(dumps.stream().map(Dump::rank).toList());
        return IntStream.range(0, dumps.getFirst().worldSize())
                .filter(rank -> !present.contains(rank))
                .boxed()
                .toList();
    }

    private static Path lastAttempt(Path directory) throws IOException {
        return children(directory, "attempt-*").stream()
                .max(Comparator.comparingInt(DumpFolder::number))
                .orElse(directory);
    }

    private static int number(Path attempt) {
        String digits = attempt.getFileName().toString().replaceAll("\\D", "");
        return digits.isEmpty() || digits.length() > 9 ? -1 : Integer.parseInt(digits);
    }

    private static List<Path> children(Path directory, String glob) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> paths = Files.newDirectoryStream(directory, glob)) {
            paths.forEach(found::add);
        }
        return found;
    }
}
