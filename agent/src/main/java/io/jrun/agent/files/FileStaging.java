package io.jrun.agent.files;

import io.jrun.agent.proto.FileEntry;
import io.jrun.agent.proto.FileTree;
import io.jrun.agent.proto.OpenJob;
import io.jrun.comm.file.Sha256;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Finds the files of one job on this node, and gets the missing files. A file in its place is used if it has the
 * launcher's size and modification time, or the launcher's content. Other files come from the cache or from the
 * launcher. The work runs on a thread of its own. {@link #placed} completes at the end, with a {@link StagingException}
 * after a failure.
 */
public final class FileStaging implements AutoCloseable {
    /** The size of the cache: the files of some large jobs, and a hundredth of a node's disk. */
    private static final long CACHE_BYTES = 20L << 30;

    /**
     * Seconds to wait for the launcher's stream. The launcher opens the stream when it knows that the job is open here.
     */
    private static final long LAUNCHER_SECONDS = 60;

    private static final long END_SECONDS = 2;

    private final OpenJob request;
    private final Map<String, String> environment;
    private final Consumer<String> notices;
    private final CompletableFuture<LauncherFiles> launcher = new CompletableFuture<>();
    private final CompletableFuture<StagedFiles> placed = new CompletableFuture<>();
    private final CompletableFuture<Void> finished = new CompletableFuture<>();
    private final Map<Integer, byte[]> digests = new HashMap<>();
    private final Thread thread =
            Thread.ofPlatform().daemon().name("jrun-agent-files").unstarted(this::run);
    private String host = "";
    private @Nullable FileCache cache;
    private @Nullable JobFolder folder;

    /**
     * Prepares the staging of a job.
     *
     * @param environment the environment with the folder of the cache: XDG_CACHE_HOME, or HOME
     * @param notices receives messages for the user
     */
    public FileStaging(OpenJob request, Map<String, String> environment, Consumer<String> notices) {
        this.request = request;
        this.environment = environment;
        this.notices = notices;
    }

    /** Begins the staging on the node {@code name}. Returns at once. */
    public void begin(String name) {
        host = name;
        if (request.getWorkingDir().isEmpty()) {
            placed.complete(StagedFiles.IN_PLACE);
            finished.complete(null);
        } else {
            thread.start();
        }
    }

    /** Called when the launcher has opened its stream. */
    public void attach(LauncherFiles stream) {
        if (!launcher.complete(stream)) {
            stream.close();
        }
    }

    /** Completes with the paths of all files when all files are on this node. */
    public CompletableFuture<StagedFiles> placed() {
        return placed;
    }

    private void run() {
        try {
            StagedFiles found = place();
            var _ = launcher.thenAccept(LauncherFiles::close);
            placed.complete(found);
            sweep();
        } catch (StagingException e) {
            placed.completeExceptionally(e);
        } catch (InterruptedException | IOException | RuntimeException | Error e) {
            placed.completeExceptionally(new StagingException("the job's files cannot be brought here: " + words(e)));
        } finally {
            finished.complete(null);
        }
    }

    private StagedFiles place() throws IOException, StagingException, InterruptedException {
        Path workingDir = Path.of(request.getWorkingDir());
        Set<FileTree> lacking = lacking();
        boolean absent = !Files.isDirectory(workingDir);
        if (lacking.isEmpty() && !absent) {
            return StagedFiles.IN_PLACE;
        }
        openCache();
        boolean ownWorkingDir =
                absent || lacking.stream().anyMatch(tree -> !tree.getPlace().isEmpty());
        JobFolder own = Objects.requireNonNull(folder);
        Path work = own.path().resolve("work");
        if (ownWorkingDir) {
            own.makeFolder(work);
        }
        Map<String, Path> moved = new HashMap<>();
        int first = 0;
        for (FileTree tree : request.getFilesList()) {
            boolean isPlaced = !tree.getPlace().isEmpty();
            if (isPlaced ? ownWorkingDir : lacking.contains(tree)) {
                Path root = isPlaced
                        ? work.resolve(tree.getPlace()).normalize()
                        : own.path().resolve("program/" + first).resolve(name(tree));
                bring(tree, first, root);
                if (!isPlaced) {
                    moved.put(tree.getPath(), root);
                }
            }
            first += tree.getEntriesCount();
        }
        if (!ownWorkingDir) {
            return new StagedFiles(moved, Optional.empty());
        }
        notices.accept(
                absent
                        ? "the working directory " + workingDir + " does not exist on " + host + "; workers start in "
                                + work
                        : "not all staged files are in " + workingDir + " on " + host + "; workers start in " + work);
        return new StagedFiles(moved, Optional.of(work));
    }

    private void openCache() throws StagingException {
        try {
            PrivateFolder.claim(cacheHome());
            cache = new FileCache(cacheHome().resolve("files"), CACHE_BYTES);
            folder = JobFolder.create(jobs(), request.getRunId());
        } catch (IOException e) {
            throw new StagingException("the job's files cannot be brought here: " + words(e)
                    + "; set XDG_CACHE_HOME for the agent there to a folder that it can write to,"
                    + " or keep the files where all nodes see them");
        }
    }

    private static Path name(FileTree tree) {
        return Path.of(tree.getPath()).getFileName();
    }

    private Set<FileTree> lacking() throws IOException, StagingException, InterruptedException {
        Set<FileTree> lacking = new HashSet<>();
        int first = 0;
        for (FileTree tree : request.getFilesList()) {
            for (int i = 0; i < tree.getEntriesCount() && !lacking.contains(tree); i++) {
                if (!isInPlace(tree, i, first)) {
                    lacking.add(tree);
                }
            }
            first += tree.getEntriesCount();
        }
        return lacking;
    }

    private boolean isInPlace(FileTree tree, int index, int first)
            throws IOException, StagingException, InterruptedException {
        FileEntry entry = tree.getEntries(index);
        Path file = below(Path.of(tree.getPath()), entry.getName());
        BasicFileAttributes found;
        try {
            found = Files.readAttributes(file, BasicFileAttributes.class);
        } catch (NoSuchFileException e) {
            return false;
        } catch (FileSystemException e) {
            return false; // a file in the place of a folder, or a folder that this user may not enter
        }
        if (!found.isRegularFile() || found.size() != entry.getSize() || !Files.isReadable(file)) {
            return false;
        }
        return found.lastModifiedTime().toMillis() == entry.getModifiedMillis()
                || Arrays.equals(Sha256.of(file), digest(first + index));
    }

    private void bring(FileTree tree, int first, Path root) throws IOException, StagingException, InterruptedException {
        JobFolder to = Objects.requireNonNull(folder);
        for (int i = 0; i < tree.getEntriesCount(); i++) {
            FileEntry entry = tree.getEntries(i);
            Path target = below(root, entry.getName());
            to.makeFolderOf(target);
            if (isInPlace(tree, i, first)) {
                Files.createSymbolicLink(target, below(Path.of(tree.getPath()), entry.getName()));
            } else {
                bring(entry, first + i, target, below(Path.of(tree.getPath()), entry.getName()));
            }
            to.recordPlaced(target);
        }
    }

    private void bring(FileEntry entry, int file, Path target, Path source)
            throws IOException, StagingException, InterruptedException {
        FileCache from = Objects.requireNonNull(cache);
        try {
            byte[] sha256 = digest(file);
            if (!from.link(sha256, entry.getExecutable(), target)) {
                LauncherFiles remote = launcher();
                from.put(
                        sha256,
                        entry.getSize(),
                        entry.getExecutable(),
                        target,
                        out -> remote.read(file, entry.getSize(), out));
            }
        } catch (IOException e) {
            throw new StagingException(source + " could not be brought to this node: " + words(e));
        } catch (StagingException e) {
            throw new StagingException(source + " could not be brought to this node: " + e.getMessage());
        }
    }

    private byte[] digest(int file) throws StagingException, InterruptedException {
        byte[] known = digests.get(file);
        if (known == null) {
            known = launcher().sha256(file);
            digests.put(file, known);
        }
        return known;
    }

    private LauncherFiles launcher() throws StagingException, InterruptedException {
        try {
            return launcher.get(LAUNCHER_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            throw new StagingException("the launcher has opened no stream of files");
        }
    }

    private void sweep() throws StagingException {
        try {
            if (PrivateFolder.exists(cacheHome())) {
                JobFolder.sweep(jobs());
            }
        } catch (IOException e) {
            notices.accept("the files of a killed agent on " + host + " could not be removed: " + words(e));
        }
    }

    private Path jobs() throws StagingException {
        return cacheHome().resolve("jobs");
    }

    private Path cacheHome() throws StagingException {
        return PrivateFolder.inCache(environment)
                .orElseThrow(() -> new StagingException(
                        "there is no folder for the job's files: the agent has neither HOME nor XDG_CACHE_HOME"));
    }

    private static Path below(Path root, String name) throws StagingException {
        Path file = name.isEmpty() ? root : root.resolve(name).normalize();
        if (!file.startsWith(root)) {
            throw new StagingException(name + " is outside of " + root);
        }
        return file;
    }

    private static String words(Throwable e) {
        if (e instanceof Error) {
            return e.toString();
        }
        return e instanceof FileSystemException file && file.getReason() == null
                ? file.getClass().getSimpleName() + ": " + file.getMessage()
                : String.valueOf(e.getMessage());
    }

    /**
     * Cancels missing files, and removes the files that the staging has put here: before this method returns, or later
     * if the removal takes longer than two seconds.
     */
    @Override
    public void close() {
        placed.completeExceptionally(new StagingException("the job has ended"));
        var _ = launcher.thenAccept(LauncherFiles::abort);
        launcher.completeExceptionally(new StagingException("the job has ended"));
        try {
            finished.thenRun(this::removeFolder).get(END_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            // the thread is busy with a file, and removes the folder afterwards
        }
    }

    private void removeFolder() {
        try {
            if (folder != null) {
                folder.remove();
            }
        } catch (IOException e) {
            notices.accept("the job's folder on " + host + " could not be removed: " + words(e));
        }
    }
}
