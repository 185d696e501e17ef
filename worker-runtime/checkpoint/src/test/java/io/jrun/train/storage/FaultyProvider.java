package io.jrun.train.storage;

import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.spi.FileSystemProvider;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;

/** Passes operations to the default file system, and reports those that change something to a {@link PowerFailure}. */
final class FaultyProvider extends FileSystemProvider {
    private final FileSystemProvider real = FileSystems.getDefault().provider();
    private final FaultyFileSystem files;
    private final PowerFailure failure;

    FaultyProvider(FaultyFileSystem files, PowerFailure failure) {
        this.files = files;
        this.failure = failure;
    }

    private static Path of(Path path) {
        return FaultyFileSystem.unwrap(path);
    }

    @Override
    public FileChannel newFileChannel(Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes)
            throws IOException {
        if (!options.contains(StandardOpenOption.WRITE)) {
            return new FaultyChannel(of(path), real.newFileChannel(of(path), options, attributes), failure);
        }
        failure.step("create " + path.getFileName());
        FileChannel channel = real.newFileChannel(of(path), options, attributes);
        return new FaultyChannel(of(path), channel, failure);
    }

    @Override
    public SeekableByteChannel newByteChannel(
            Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes) throws IOException {
        return options.contains(StandardOpenOption.WRITE)
                ? newFileChannel(path, options, attributes)
                : real.newByteChannel(of(path), options, attributes);
    }

    @Override
    public void createDirectory(Path folder, FileAttribute<?>... attributes) throws IOException {
        failure.step("mkdir " + folder.getFileName());
        real.createDirectory(of(folder), attributes);
    }

    @Override
    public void delete(Path path) throws IOException {
        failure.step("delete " + path.getFileName());
        real.delete(of(path));
    }

    @Override
    public void move(Path source, Path target, CopyOption... options) throws IOException {
        failure.step("rename to " + target.getFileName());
        real.move(of(source), of(target), options);
        failure.renamed(of(source), of(target));
    }

    @Override
    public DirectoryStream<Path> newDirectoryStream(Path folder, DirectoryStream.Filter<? super Path> filter)
            throws IOException {
        DirectoryStream<Path> entries = real.newDirectoryStream(of(folder), filter);
        return new DirectoryStream<>() {
            @Override
            public Iterator<Path> iterator() {
                Iterator<Path> each = entries.iterator();
                return new Iterator<>() {
                    @Override
                    public boolean hasNext() {
                        return each.hasNext();
                    }

                    @Override
                    public Path next() {
                        return files.wrap(each.next());
                    }
                };
            }

            @Override
            public void close() throws IOException {
                entries.close();
            }
        };
    }

    @Override
    public boolean isSameFile(Path one, Path other) throws IOException {
        return real.isSameFile(of(one), of(other));
    }

    @Override
    public boolean isHidden(Path path) throws IOException {
        return real.isHidden(of(path));
    }

    @Override
    public void checkAccess(Path path, AccessMode... modes) throws IOException {
        real.checkAccess(of(path), modes);
    }

    @Override
    public <V extends FileAttributeView> V getFileAttributeView(Path path, Class<V> type, LinkOption... options) {
        return real.getFileAttributeView(of(path), type, options);
    }

    @Override
    public <A extends BasicFileAttributes> A readAttributes(Path path, Class<A> type, LinkOption... options)
            throws IOException {
        return real.readAttributes(of(path), type, options);
    }

    @Override
    public Map<String, Object> readAttributes(Path path, String attributes, LinkOption... options) throws IOException {
        return real.readAttributes(of(path), attributes, options);
    }

    @Override
    public String getScheme() {
        return "faulty";
    }

    @Override
    public FileSystem newFileSystem(URI uri, Map<String, ?> environment) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileSystem getFileSystem(URI uri) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Path getPath(URI uri) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void copy(Path source, Path target, CopyOption... options) {
        throw new UnsupportedOperationException();
    }

    @Override
    public FileStore getFileStore(Path path) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void setAttribute(Path path, String attribute, Object value, LinkOption... options) {
        throw new UnsupportedOperationException();
    }
}
