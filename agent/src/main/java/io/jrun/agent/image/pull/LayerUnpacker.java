package io.jrun.agent.image.pull;

import com.github.luben.zstd.ZstdInputStream;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.HashSet;
import java.util.Set;
import java.util.zip.GZIPInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Unpacks the layers of an image into one folder, the lowest layer first. Source of the whiteouts: the OCI image
 * specification, v1.1, layer.md. The unpacker drops owners (all files belong to this user), the setuid and setgid bits,
 * extended attributes, device nodes and FIFOs. Confined to one thread.
 */
final class LayerUnpacker {
    private static final String WHITEOUT = ".wh.";
    private static final String OPAQUE = ".wh..wh..opq";
    private static final String RESERVED = ".wh..wh.";
    private static final int BUFFER = 1 << 16;
    private static final int MAGIC = 4;

    private final ImageRoot root;
    private final DiskRoom room;
    private final byte[] buffer = new byte[BUFFER];
    private long bytes;

    /** The paths that the current layer has made. The whiteouts of the same layer do not delete these paths. */
    private final Set<Path> made = new HashSet<>();

    /** @param room bounds the bytes of all files */
    LayerUnpacker(ImageRoot root, DiskRoom room) {
        this.root = root;
        this.room = room;
    }

    /** The bytes of all files so far. */
    long bytes() {
        return bytes;
    }

    /** Unpacks one layer: a tar archive, uncompressed or compressed with gzip or zstd. */
    void unpack(InputStream layer) throws IOException {
        made.clear();
        try (TarArchiveInputStream tar = new TarArchiveInputStream(plain(layer), "UTF-8")) {
            for (TarArchiveEntry entry = next(tar); entry != null; entry = next(tar)) {
                unpack(entry, tar);
            }
        } catch (IllegalArgumentException e) {
            throw new IOException("a layer is not a tar archive: " + e.getMessage(), e);
        }
    }

    /**
     * The next entry; null at the end. umoci omits the last padding of an archive, so an end inside the padding counts
     * as an end.
     */
    private static @Nullable TarArchiveEntry next(TarArchiveInputStream tar) throws IOException {
        try {
            return tar.getNextEntry();
        } catch (IOException e) {
            if (String.valueOf(e.getMessage()).equals("Truncated TAR archive")) {
                return null;
            }
            throw e;
        }
    }

    /** Decompresses a layer. The first bytes decide, because media types of layers often name a wrong compression. */
    private static InputStream plain(InputStream layer) throws IOException {
        BufferedInputStream in = new BufferedInputStream(layer, BUFFER);
        in.mark(MAGIC);
        byte[] magic = in.readNBytes(MAGIC);
        in.reset();
        if (magic.length < MAGIC) {
            return in;
        }
        if ((magic[0] & 0xff) == 0x1f && (magic[1] & 0xff) == 0x8b) {
            return new GZIPInputStream(in, BUFFER);
        }
        boolean zstd = (magic[0] & 0xff) == 0x28
                && (magic[1] & 0xff) == 0xb5
                && (magic[2] & 0xff) == 0x2f
                && (magic[3] & 0xff) == 0xfd;
        return zstd ? new BufferedInputStream(new ZstdInputStream(in), BUFFER) : in;
    }

    private void unpack(TarArchiveEntry entry, TarArchiveInputStream tar) throws IOException {
        String name = entry.getName();
        String last = name.substring(name.lastIndexOf('/') + 1);
        if (last.startsWith(WHITEOUT)) {
            whiteout(name, last);
            return;
        }
        boolean special = entry.isCharacterDevice() || entry.isBlockDevice() || entry.isFIFO();
        boolean known = entry.isDirectory() || entry.isSymbolicLink() || entry.isLink() || entry.isFile();
        if (special || !known) {
            return;
        }
        room.takeEntry();
        Path path = root.locate(name, true);
        if (path.equals(root.root())) {
            return;
        }
        if (entry.isDirectory()) {
            ImageRoot.makeFolder(path, entry.getMode());
        } else if (entry.isSymbolicLink()) {
            ImageRoot.clear(path);
            Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
        } else if (entry.isLink()) {
            root.hardLink(path, entry.getLinkName());
        } else {
            file(path, entry, tar);
        }
        made.add(path);
    }

    private void file(Path path, TarArchiveEntry entry, TarArchiveInputStream tar) throws IOException {
        ImageRoot.clear(path);
        try (OutputStream out = Files.newOutputStream(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (int read = tar.read(buffer); read >= 0; read = tar.read(buffer)) {
                room.take(read);
                out.write(buffer, 0, read);
                bytes += read;
            }
        }
        ImageRoot.setMode(path, entry.getMode(), false);
        Files.setLastModifiedTime(
                // Python's caches need the time of a file.
                path, FileTime.from(entry.getLastModifiedTime().toInstant()));
    }

    private void whiteout(String name, String last) throws IOException {
        String folder = name.substring(0, name.length() - last.length());
        if (last.equals(OPAQUE)) {
            Path path = root.locate(folder + "x", false).getParent();
            if (path != null && Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
                deleteLower(path);
            }
            return;
        }
        String hidden = last.substring(WHITEOUT.length());
        if (last.startsWith(RESERVED)) {
            return; // The file belongs to the file system that made the layer.
        }
        if (hidden.isEmpty() || hidden.equals(".") || hidden.equals("..")) {
            throw new ImageRoot.PathException(
                    "a layer deletes '" + folder + hidden + "', and the path leads out of the image");
        }
        deleteLowerOrKeep(root.locate(folder + hidden, false));
    }

    /** Deletes the files of lower layers in a folder. */
    private void deleteLower(Path folder) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                deleteLowerOrKeep(file);
            }
        }
    }

    private void deleteLowerOrKeep(Path path) throws IOException {
        boolean folder = Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
        if (folder) {
            deleteLower(path);
        }
        if (!made.contains(path) && !(folder && hasFiles(path))) {
            Files.deleteIfExists(path);
        }
    }

    private static boolean hasFiles(Path folder) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            return files.iterator().hasNext();
        }
    }
}
