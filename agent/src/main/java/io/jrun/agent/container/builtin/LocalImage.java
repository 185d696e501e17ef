package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.builtin.NamespaceHolder.Kind;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.List;
import java.util.Map;

/** An image on this node, with its kind and the way to mount the image. */
record LocalImage(Path path, Kind kind, String squashfuse) {
    private static final String SQUASHFS = "hsqs";

    /** The place of the used bytes in the superblock. Source: the documentation of squashfs, version 4. */
    private static final int BYTES_USED = 40;

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
        checkLength(real);
        return account.isRoot()
                ? new LocalImage(real, Kind.LOOP, "")
                : new LocalImage(real, Kind.FUSE, squashfuse(path, environment));
    }

    /** A file that was cut can be mounted, and its programs would then be missing. */
    private static void checkLength(Path file) throws ContainerException {
        try (InputStream in = UserFile.stream(file)) {
            byte[] head = in.readNBytes(BYTES_USED + Long.BYTES);
            long needed = head.length < BYTES_USED + Long.BYTES
                    ? Long.MAX_VALUE
                    : ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN).getLong(BYTES_USED);
            long size = Files.size(file);
            if (size < needed) {
                throw new ContainerException("the image " + file + " is damaged: the file has " + size + " bytes"
                        + (needed == Long.MAX_VALUE ? "" : " of " + needed) + "; copy the file again");
            }
        } catch (IOException e) {
            throw new ContainerException("the image " + file + " cannot be read: " + FileError.reason(e, file), e);
        }
    }

    /**
     * Checks that an ordinary user can write to a root with a name of this image. The kernel lets the user write only
     * to folders of the user, and jrun writes files of the node to /etc.
     */
    void checkOwner(String container, Account account) throws ContainerException {
        Path etc = path.resolve("etc");
        try {
            if (kind != Kind.FOLDER || !Files.isDirectory(etc, LinkOption.NOFOLLOW_LINKS)) {
                return;
            }
            PosixFileAttributes found = Files.readAttributes(etc, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            boolean ofUser = Files.getAttribute(etc, "unix:uid").equals(account.uid());
            if (!ofUser || !Files.getAttribute(etc, "unix:gid").equals(account.gid())) {
                throw new ContainerException("--container-name=" + container + ": " + etc + " of the image belongs to "
                        + (ofUser
                                ? "group " + found.group().getName()
                                : "user " + found.owner().getName())
                        + ", so user " + account.user()
                        + " cannot keep a container of this folder; make a .sqsh file of the folder with 'jrun image"
                        + " create FILE --rootfs=" + path + "', or copy the folder with 'cp -r'");
            }
        } catch (IOException e) {
            throw new ContainerException("the image " + path + " cannot be read: " + ContainerException.words(e), e);
        }
    }

    /** The failure to read a file of a mounted image. */
    static ContainerException damaged(Path file, IOException e) {
        String reason = e instanceof FileSystemException known && known.getReason() != null
                ? known.getReason()
                : String.valueOf(e.getMessage());
        return new ContainerException(
                "the image is damaged: " + file.getFileName() + " cannot be read: " + reason
                        + "; copy the image again, or make the image again",
                e);
    }

    private static Path real(Path path) throws ContainerException {
        try {
            return path.toRealPath();
        } catch (IOException e) {
            throw new ContainerException("the image " + path + " cannot be read: " + e.getMessage(), e);
        }
    }

    private static String head(Path file) throws ContainerException {
        try (InputStream in = UserFile.stream(file)) {
            return new String(in.readNBytes(SQUASHFS.length()), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new ContainerException("the image " + file + " cannot be read: " + FileError.reason(e, file), e);
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
