package io.jrun.train.storage;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.WatchService;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.spi.FileSystemProvider;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * The default file system, in which every operation that changes something is counted, and the process dies at one of
 * them. The paths are proxies of the default file system's paths, so that {@link java.nio.file.Files} comes here.
 */
public final class FaultyFileSystem extends FileSystem {
    private final FileSystem real = FileSystems.getDefault();
    private final FaultyProvider provider;

    private FaultyFileSystem(PowerFailure failure) {
        provider = new FaultyProvider(this, failure);
    }

    /** A path whose operations are counted by {@code failure}. */
    public static Path path(Path real, PowerFailure failure) {
        return new FaultyFileSystem(failure).wrap(real);
    }

    Path wrap(Path path) {
        return (Path) Proxy.newProxyInstance(
                FaultyFileSystem.class.getClassLoader(),
                new Class<?>[] {Path.class, Wrapped.class},
                (_, method, arguments) -> {
                    if (method.getName().equals("unwrapped")) {
                        return path;
                    }
                    if (method.getName().equals("getFileSystem")) {
                        return this;
                    }
                    Object[] real = arguments == null
                            ? new Object[0]
                            : Arrays.stream(arguments)
                                    .map(each -> each instanceof Path given ? unwrap(given) : each)
                                    .toArray();
                    try {
                        Object result = method.invoke(path, real);
                        return result instanceof Path found ? wrap(found) : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    static Path unwrap(Path path) {
        return path instanceof Wrapped wrapped ? wrapped.unwrapped() : path;
    }

    /** Marks the proxies. */
    public interface Wrapped {
        /** The path of the default file system. */
        Path unwrapped();
    }

    @Override
    public FileSystemProvider provider() {
        return provider;
    }

    @Override
    public Path getPath(String first, String... more) {
        return wrap(real.getPath(first, more));
    }

    @Override
    public void close() throws IOException {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public boolean isReadOnly() {
        return false;
    }

    @Override
    public String getSeparator() {
        return real.getSeparator();
    }

    @Override
    public Iterable<Path> getRootDirectories() {
        return List.of();
    }

    @Override
    public Iterable<FileStore> getFileStores() {
        return List.of();
    }

    @Override
    public Set<String> supportedFileAttributeViews() {
        return real.supportedFileAttributeViews();
    }

    @Override
    public PathMatcher getPathMatcher(String syntaxAndPattern) {
        throw new UnsupportedOperationException();
    }

    @Override
    public UserPrincipalLookupService getUserPrincipalLookupService() {
        throw new UnsupportedOperationException();
    }

    @Override
    public WatchService newWatchService() {
        throw new UnsupportedOperationException();
    }
}
