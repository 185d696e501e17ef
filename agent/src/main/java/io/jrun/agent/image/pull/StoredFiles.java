package io.jrun.agent.image.pull;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarFile;

/** The files of a stored image by their names: of a folder, or of a tar archive. Thread-safe. */
sealed interface StoredFiles extends AutoCloseable {
    /** Whether the image has a file of this name. */
    boolean has(String name);

    /** Bytes of a file. */
    long size(String name) throws ContainerException, IOException;

    /** The content of a file. */
    InputStream open(String name) throws ContainerException, IOException;

    @Override
    void close() throws IOException;

    /** The content of a small file. */
    default byte[] read(String name, long most) throws ContainerException, IOException {
        if (size(name) > most) {
            throw new ContainerException(
                    name + " of the image has more than " + most + " bytes; the file is not an image");
        }
        try (InputStream in = open(name)) {
            return in.readAllBytes();
        }
    }

    private static ContainerException missing(Path place, String name) {
        return new ContainerException(
                "the image " + place + " is damaged: the image has no file " + name + "; copy the image again");
    }

    /**
     * The files of a folder.
     *
     * @param folder an OCI layout
     */
    record OfFolder(Path folder) implements StoredFiles {
        @Override
        public boolean has(String name) {
            return Files.isRegularFile(folder.resolve(name), LinkOption.NOFOLLOW_LINKS);
        }

        /** The path of a file. The folder may have a link, a pipe or a device in the place of the file. */
        private Path regular(String name) throws ContainerException {
            Path file = folder.resolve(name);
            if (has(name)) {
                return file;
            }
            throw Files.exists(file, LinkOption.NOFOLLOW_LINKS)
                    ? new ContainerException("the image " + folder + " is damaged: " + name
                            + " of the image is no regular file; copy the image again")
                    : missing(folder, name);
        }

        @Override
        public long size(String name) throws ContainerException, IOException {
            return Files.size(regular(name));
        }

        @Override
        public InputStream open(String name) throws ContainerException, IOException {
            return Files.newInputStream(regular(name));
        }

        @Override
        public void close() {
            // No file is open.
        }
    }

    /** An archive. In Docker's archives a link may give a layer a second name. */
    final class OfArchive implements StoredFiles {
        private final Path path;
        private final TarFile archive;
        private final Map<String, TarArchiveEntry> entries = new HashMap<>();

        OfArchive(Path path) throws IOException {
            this.path = path;
            this.archive = new TarFile(path);
            archive.getEntries().forEach(entry -> entries.put(entry.getName().replaceFirst("^\\./", ""), entry));
        }

        private TarArchiveEntry entry(String name) throws ContainerException {
            TarArchiveEntry found = entries.get(name);
            for (int links = 0; found != null && (found.isLink() || found.isSymbolicLink()); links++) {
                String target = found.isLink()
                        ? found.getLinkName()
                        : Path.of("/" + name)
                                .resolveSibling(found.getLinkName())
                                .normalize()
                                .toString()
                                .substring(1);
                found = links > 2 ? null : entries.get(target);
            }
            if (found == null || !found.isFile()) {
                throw missing(path, name);
            }
            return found;
        }

        @Override
        public boolean has(String name) {
            return entries.containsKey(name);
        }

        @Override
        public long size(String name) throws ContainerException {
            return entry(name).getSize();
        }

        @Override
        public InputStream open(String name) throws ContainerException, IOException {
            return archive.getInputStream(entry(name));
        }

        @Override
        public void close() throws IOException {
            archive.close();
        }
    }
}
