package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Opens images that are files: PATH or PATH:TAG of an OCI layout, of an archive of one, or of an archive of Docker.
 * Stateless.
 */
final class StoredImages {
    private StoredImages() {}

    static ImageSource open(String text) throws ContainerException, IOException {
        Path path = Path.of(text);
        String tag = "";
        int colon = text.lastIndexOf(':');
        if (!Files.exists(path) && colon > 0) {
            path = Path.of(text.substring(0, colon));
            tag = text.substring(colon + 1);
        }
        if (Files.isDirectory(path)) {
            return new LayoutSource(text, new StoredFiles.OfFolder(path), tag);
        }
        StoredFiles files = archive(path);
        try {
            if (files.has("index.json")) {
                return new LayoutSource(text, files, tag);
            }
            if (files.has("manifest.json")) {
                return new DockerArchiveSource(text, files, tag);
            }
            throw new ContainerException(
                    "the image " + text + " is not an archive of an image: the archive has neither index.json nor "
                            + "manifest.json; make an archive with 'skopeo copy' or 'docker save'");
        } catch (ContainerException | IOException e) {
            files.close();
            throw e;
        }
    }

    private static StoredFiles archive(Path path) throws ContainerException {
        try {
            return new StoredFiles.OfArchive(path);
        } catch (IOException e) {
            throw new ContainerException(
                    "the image " + path + " is not a readable tar archive: " + e.getMessage()
                            + "; copy the image again",
                    e);
        }
    }
}
