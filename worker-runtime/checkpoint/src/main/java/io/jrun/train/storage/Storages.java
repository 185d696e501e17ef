package io.jrun.train.storage;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Finds the storage of a location: a path, {@code file:///path}, or {@code s3://bucket/prefix}. A provider that is not
 * on the class path is loaded from the folder {@code lib/SCHEME} of the installation, by a class loader of its own. The
 * libraries of a provider and of the program are therefore separate.
 */
public final class Storages {
    /** A scheme has at least two letters, so that no path begins like a location. */
    private static final Pattern SCHEME = Pattern.compile("([A-Za-z][A-Za-z0-9+.-]+):.*", Pattern.DOTALL);

    private Storages() {}

    /**
     * Opens a location.
     *
     * @throws IllegalArgumentException if the location is malformed or its scheme is unknown; the message is one line
     * @throws IOException if the location cannot be reached
     */
    public static Storage open(String location) throws IOException {
        Matcher matcher = SCHEME.matcher(location);
        if (!matcher.matches()) {
            return FileStorage.at(Path.of(location));
        }
        String scheme = matcher.group(1).toLowerCase(Locale.ROOT);
        URI uri = uri(location);
        if (scheme.equals("file")) {
            return FileStorage.at(path(uri));
        }
        Optional<StorageProvider> provider = find(scheme, ServiceLoader.load(StorageProvider.class));
        if (provider.isEmpty()) {
            provider = find(scheme, ServiceLoader.load(StorageProvider.class, installed(scheme)));
        }
        return provider.orElseThrow(() -> new IllegalArgumentException("no storage for '" + location
                        + "': known are paths, file: and s3:. The folder lib/" + scheme
                        + " of the installation has no jars of a storage"))
                .open(uri);
    }

    private static URI uri(String location) {
        try {
            return new URI(location);
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException("'" + location + "' is not a location: " + e.getMessage(), e);
        }
    }

    private static Path path(URI uri) {
        String host = uri.getHost();
        if (uri.getPath() == null || !uri.getPath().startsWith("/") || (host != null && !host.equals("localhost"))) {
            throw new IllegalArgumentException("'" + uri + "' is not a location: expected file:///FOLDER");
        }
        return Path.of(uri.getPath());
    }

    private static Optional<StorageProvider> find(String scheme, ServiceLoader<StorageProvider> providers) {
        return providers.stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.scheme().equals(scheme))
                .findFirst();
    }

    /** The jars beside the folder of this class's jar: {@code lib/runtime/jrun-checkpoint.jar} and {@code lib/s3/*.jar}. */
    private static ClassLoader installed(String scheme) throws IOException {
        List<URL> jars = new ArrayList<>();
        CodeSource source = Storages.class.getProtectionDomain().getCodeSource();
        Path runtime = source == null
                ? null
                : path(URI.create(source.getLocation().toString())).getParent();
        Path folder = runtime == null ? null : runtime.resolveSibling(scheme);
        if (folder != null && Files.isDirectory(folder)) {
            try (Stream<Path> entries = Files.list(folder)) {
                for (Path jar : entries.filter(entry -> entry.toString().endsWith(".jar"))
                        .sorted()
                        .toList()) {
                    jars.add(url(jar));
                }
            }
        }
        return new URLClassLoader("jrun-" + scheme, jars.toArray(URL[]::new), Storages.class.getClassLoader());
    }

    private static URL url(Path jar) {
        try {
            return jar.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(jar + " has no URL: " + e.getMessage(), e);
        }
    }
}
