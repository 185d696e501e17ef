package io.jrun.launcher.files;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The files that the workers of a job need: the jars and folders of the class path, an executable of the user, and the
 * files of {@code --stage}. The files are listed, not read.
 *
 * @param trees the trees that agents know, in order; file numbers continue through all trees
 */
public record JobFiles(List<Tree> trees) {
    /** The files of a job on this machine: none are sent. */
    public static final JobFiles NONE = new JobFiles(List.of());

    /** The limit of files. Every node must look for each file, so more files should be packed into one. */
    private static final int MAX_FILES = 100_000;

    private static final String ALL_JARS = "/*";

    /**
     * A file, or all files of a folder.
     *
     * @param place the path below the working directory of the workers; empty if the workers use the absolute path
     */
    public record Tree(Path path, String place, List<ListedFile> entries) {
        public Tree {
            entries = List.copyOf(entries);
        }

        /** The size of all files of the tree. */
        public long bytes() {
            return entries.stream().mapToLong(ListedFile::size).sum();
        }
    }

    /**
     * One file, with its state when the job began.
     *
     * @param name path below the tree, empty if the tree is the file
     */
    public record ListedFile(Path path, String name, long size, long modifiedMillis, boolean executable) {
        static ListedFile of(Path path, String name) throws IOException {
            BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class);
            return new ListedFile(
                    path, name, found.size(), found.lastModifiedTime().toMillis(), Files.isExecutable(path));
        }

        /** Whether the file has the same state as when the job began. */
        boolean isUnchanged() throws IOException {
            return equals(of(path, name));
        }
    }

    public JobFiles {
        trees = List.copyOf(trees);
    }

    /**
     * Lists the files of {@code job}.
     *
     * @throws UsageException if a folder is unreadable or holds too many files
     */
    public static JobFiles of(JobSpec job) {
        try {
            return find(job);
        } catch (IOException e) {
            throw new UsageException("the job's files cannot be listed: " + e.getMessage() + ".");
        }
    }

    private static JobFiles find(JobSpec job) throws IOException {
        Path workingDir = job.workers().workingDirectory();
        List<Tree> trees = new ArrayList<>();
        switch (job.program()) {
            case Program.JavaProgram java -> {
                for (String entry : new LinkedHashSet<>(java.classPath())) {
                    boolean allJars = entry.endsWith(ALL_JARS);
                    Path path = Path.of(allJars ? entry.substring(0, entry.length() - ALL_JARS.length()) : entry);
                    add(trees, path, "", allJars);
                }
            }
            case Program.Executable executable -> {
                Path path = Path.of(executable.path());
                if (path.startsWith(workingDir)) { // other programs, such as python3, come from each node
                    add(trees, path, "", false);
                }
            }
        }
        for (Path path : outermost(job.workers().staged())) {
            Path place = workingDir.relativize(path);
            add(trees, path, place.toString().isEmpty() ? "." : place.toString(), false);
        }
        return new JobFiles(trees);
    }

    /** All files, by number. */
    public List<ListedFile> files() {
        return trees.stream().flatMap(tree -> tree.entries().stream()).toList();
    }

    private static Set<Path> outermost(List<Path> paths) {
        Set<Path> all = new LinkedHashSet<>(paths);
        all.removeIf(path -> paths.stream().anyMatch(other -> !path.equals(other) && path.startsWith(other)));
        return all;
    }

    private static void add(List<Tree> trees, Path path, String place, boolean jarsOnly) throws IOException {
        if (Files.isRegularFile(path)) {
            trees.add(new Tree(path, place, List.of(ListedFile.of(path, ""))));
        } else if (Files.isDirectory(path)) {
            trees.add(new Tree(path, place, entries(path, jarsOnly)));
        } // else the file does not exist; a manifest may name missing jars
    }

    private static List<ListedFile> entries(Path folder, boolean jarsOnly) throws IOException {
        List<ListedFile> entries = new ArrayList<>();
        try (Stream<Path> found = Files.walk(folder, jarsOnly ? 1 : Integer.MAX_VALUE, FileVisitOption.FOLLOW_LINKS)) {
            for (Path file : (Iterable<Path>) found.sorted()::iterator) {
                boolean wanted = Files.isRegularFile(file)
                        && (!jarsOnly
                                || file.toString().endsWith(".jar")
                                || file.toString().endsWith(".JAR"));
                if (wanted) {
                    entries.add(ListedFile.of(file, folder.relativize(file).toString()));
                }
                if (entries.size() > MAX_FILES) {
                    throw new IOException(folder + " holds more than " + MAX_FILES
                            + " files; pack them into one, or put them where all hosts have them");
                }
            }
        } catch (UncheckedIOException e) {
            throw new IOException(e.getMessage(), e);
        }
        return entries;
    }
}
