package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.builtin.NamespaceHolder.Kind;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** An image on this node, with its kind and the way to mount the image. */
record LocalImage(Path path, Kind kind, String squashfuse) {
    private static final String SQUASHFS = "hsqs";

    /** The first bytes of files of gzip, zstd, xz and bzip2. */
    private static final List<String> COMPRESSED = List.of("\u001f\u008b", "(\u00b5/\u00fd", "\u00fd7zX", "BZh");

    private static final Path FUSE = Path.of("/dev/fuse");

    /**
     * @throws ContainerException if the file is missing, is not an image, or cannot be mounted by this user
     */
    static LocalImage open(Path path, Account account, Map<String, String> environment) throws ContainerException {
        if (!Files.exists(path)) {
            throw new ContainerException("the image " + path + " does not exist on this node; check the"
                    + " path, or copy the image to this node");
        }
        if (!Files.isReadable(path)) {
            throw new ContainerException("the image " + path + " cannot be read by user " + account.user()
                    + "; change the mode of the file");
        }
        Path real = real(path);
        if (Files.isDirectory(real)) {
            return new LocalImage(real, Kind.FOLDER, "");
        }
        String head = head(real);
        if (!head.startsWith(SQUASHFS)) {
            throw new ContainerException("the image " + path + " is neither a squashfs file nor a folder;"
                    + (COMPRESSED.stream().anyMatch(head::startsWith)
                            ? " the file is compressed; an archive of an image must be decompressed first"
                            : " name another file, or make the image again with 'jrun image import' or"
                                    + " 'jrun image create'"));
        }
        return account.isRoot()
                ? new LocalImage(real, Kind.LOOP, "")
                : new LocalImage(real, Kind.FUSE, squashfuse(path, environment));
    }

    private static Path real(Path path) throws ContainerException {
        try {
            return path.toRealPath();
        } catch (IOException e) {
            throw new ContainerException("the image " + path + " cannot be read: " + e.getMessage(), e);
        }
    }

    private static String head(Path file) throws ContainerException {
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readNBytes(SQUASHFS.length()), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new ContainerException("the image " + file + " cannot be read: " + e.getMessage(), e);
        }
    }

    private static String squashfuse(Path image, Map<String, String> environment) throws ContainerException {
        if (!Files.isReadable(FUSE) || !Files.isWritable(FUSE)) {
            throw new ContainerException("the image " + image + " needs squashfuse, which needs " + FUSE
                    + ", which this user cannot open on this node; ask for its mode 0666, or unpack the image with "
                    + "unsquashfs and name the folder");
        }
        return HostTools.locate("squashfuse", "squashfuse", environment);
    }
}
