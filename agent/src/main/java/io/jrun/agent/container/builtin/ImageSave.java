package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.NodeRequest;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Writes a root folder to a .sqsh file. The file gets its name when it is complete. The job waits for the file, so the
 * compression has level 3: the file is 13 % larger than with level 15, and needs a tenth of the time.
 */
final class ImageSave {
    private static final String SCRIPT = """
            mount=$1 lower=$2 root=$3 tool=$4 file=$5 xattr=$6
            case $lower in
              *:*) "$mount" -n -t overlay -o "ro,lowerdir=$lower$xattr" jrun "$root" || exit 1 ;;
              *) "$mount" -n --bind -- "$lower" "$root" || exit 1 ;;
            esac
            exec "$tool" "$root" "$file" -noappend -comp zstd -Xcompression-level 3 -quiet -no-progress
            """;

    private static final String DISK_FULL = "No space left on device";
    private static final long MEGA = 1_000_000;
    private static final String TOOL = "mksquashfs";
    private static final String PACKAGE = "squashfs-tools";

    private final HostTools tools;
    private final Account account;
    private final NodeRequest node;

    ImageSave(HostTools tools, Account account, NodeRequest node) {
        this.tools = tools;
        this.account = account;
        this.node = node;
    }

    /** Checks before the job that the root can be written at the end of the job. */
    static void check(Path target, NodeRequest node) throws ContainerException {
        HostTools.locate(TOOL, PACKAGE, node.environment());
        Path folder = target.toAbsolutePath().getParent();
        if (folder == null || !Files.isDirectory(folder) || !Files.isWritable(folder) || Files.isDirectory(target)) {
            throw new ContainerException("--container-save: the file " + target + " cannot be written on this node; "
                    + "name a file in a folder that exists and to which the user may write");
        }
        try {
            Path _ = OutputFile.resolve(target);
        } catch (IOException e) {
            throw cannot(target, FileError.reason(e, target), e);
        }
    }

    /**
     * @param lower the folders of the root, in the form of overlayfs' option lowerdir
     */
    void save(NamespaceHolder holder, String lower, Path target) throws ContainerException, InterruptedException {
        Path file;
        try {
            file = OutputFile.resolve(target);
        } catch (IOException e) {
            throw cannot(target, FileError.reason(e, target), e);
        }
        Path written = file.resolveSibling("." + file.getFileName() + "." + UUID.randomUUID() + ".tmp");
        List<String> words = new ArrayList<>(EnterCommand.enter(tools, account, holder));
        words.addAll(List.of(tools.unshare(), "--mount", "--propagation", "unchanged", "--"));
        words.addAll(List.of("/bin/sh", "-c", SCRIPT, "jrun-save", tools.mount(), lower, holder.base() + "/root"));
        words.add(HostTools.locate(TOOL, PACKAGE, node.environment()));
        words.addAll(List.of(written.toString(), account.isRoot() ? "" : ",userxattr"));
        try {
            Process process = new ProcessBuilder(words)
                    .directory(Path.of("/").toFile())
                    .redirectErrorStream(true)
                    .start();
            String messages = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            if (process.waitFor() != 0) {
                throw new ContainerException("--container-save: " + target + " cannot be written: "
                        + (messages.contains(DISK_FULL)
                                ? fullDisk(target)
                                : messages.lines().reduce((_, last) -> last).orElse("mksquashfs has failed")));
            }
            Files.move(written, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw cannot(target, FileError.reason(e), e);
        } finally {
            deleteQuietly(written);
        }
    }

    private static ContainerException cannot(Path target, String reason, IOException cause) {
        return new ContainerException("--container-save: " + target + " cannot be written: " + reason, cause);
    }

    private static String fullDisk(Path target) throws IOException {
        Path folder = target.toAbsolutePath().resolveSibling("");
        FileStore disk = Files.getFileStore(folder);
        return "the disk of " + folder + " (" + disk.name() + ", " + disk.getTotalSpace() / MEGA
                + " MB) is full; make room, or name a file on a larger disk";
    }

    private static void deleteQuietly(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            // The earlier failure is reported.
        }
    }
}
