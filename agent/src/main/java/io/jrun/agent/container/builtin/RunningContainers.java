package io.jrun.agent.container.builtin;

import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.files.PrivateFolder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

/**
 * The containers without a name that run on this node, of one user. A container has the names of its job, so that
 * another job of the user can join the container while the job runs. Stateless.
 *
 * @param folder has one file for each name, with the process and the folder of the job
 */
record RunningContainers(Path folder) {
    /** The containers of the user of this process. */
    static RunningContainers of(NodeRequest node) {
        return new RunningContainers(node.named().resolveSibling("running"));
    }

    /** Records a container under all names of its job. Removes the records of jobs that were killed. */
    void add(List<String> names, NamespaceHolder holder, SharedMounts shared) {
        if (names.isEmpty()) {
            return;
        }
        try {
            PrivateFolder.claim(folder.resolveSibling(""));
            PrivateFolder.claim(folder);
            removeEnded();
            for (String name : names) {
                Path written = Files.createTempFile(folder, ".new", "");
                Files.writeString(
                        written, holder.pid() + "\n" + holder.base() + "\n" + shared.text(), StandardCharsets.UTF_8);
                Files.move(written, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
            }
        } catch (IOException e) {
            // The job runs. Other jobs cannot join the container.
        }
    }

    /** The container of a running job; empty if no job has the name. */
    Optional<NamespaceHolder> find(String name) {
        Path file = folder.resolve(name);
        try {
            return PrivateFolder.exists(folder) && Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                    ? NamespaceHolder.running(file, false)
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Removes the records of a container. A later job may have a record of the same name. */
    void remove(List<String> names, NamespaceHolder holder) {
        for (String name : names) {
            if (find(name).filter(found -> found.pid() == holder.pid()).isPresent()) {
                delete(folder.resolve(name));
            }
        }
    }

    private void removeEnded() throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "[!.]*")) {
            for (Path file : files) {
                if (NamespaceHolder.running(file, false).isEmpty()) {
                    delete(file);
                }
            }
        }
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            // The next job removes the file.
        }
    }
}
