package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.node.SearchPath;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * Checks that a worker's program and working folder exist inside the container, before the worker starts. Stateless.
 */
final class ProgramCheck {
    private ProgramCheck() {}

    static void check(ContainerRoot root, WorkerRequest worker) throws ContainerException {
        if (!Files.isDirectory(root.find(worker.workdir()), LinkOption.NOFOLLOW_LINKS)) {
            throw new ContainerException(
                    "the working folder " + worker.workdir() + ": No such file or directory inside the container; "
                            + "name another folder with --container-workdir, or mount one with --container-mounts");
        }
        String program = worker.command().getFirst();
        if (program.contains("/")) {
            String path = program.startsWith("/") ? program : worker.workdir() + "/" + program;
            if (!isFile(root.find(path))) {
                throw ContainerException.programMissing(
                        program + " does not exist inside the container; mount its folder with "
                                + "--container-mounts, or name a program of the image");
            }
            return;
        }
        SearchPath path = new SearchPath(worker.searchPath(), Path.of(worker.workdir()));
        for (Path folder : path.folders().toList()) {
            if (isFile(root.find(folder + "/" + program))) {
                return;
            }
        }
        throw ContainerException.programMissing(
                program + ": no such program inside the container on its PATH (" + worker.searchPath() + ")");
    }

    /** A damaged image gives other failures than a missing file. */
    private static boolean isFile(Path path) throws ContainerException {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    .isRegularFile();
        } catch (NoSuchFileException | NotDirectoryException | AccessDeniedException e) {
            return false;
        } catch (FileSystemException e) {
            if (String.valueOf(e.getReason()).equals("Not a directory")) {
                return false;
            }
            throw LocalImage.damaged(path, e);
        } catch (IOException e) {
            throw LocalImage.damaged(path, e);
        }
    }
}
