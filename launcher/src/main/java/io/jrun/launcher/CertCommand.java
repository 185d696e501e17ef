package io.jrun.launcher;

import io.jrun.launcher.cli.CertRequest;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** {@code jrun cert}: runs {@code io.jrun.launcher.cert} with Bouncy Castle, which only this package needs. */
final class CertCommand {
    private static final String AUTHORITY = "io.jrun.launcher.cert.CertificateAuthority";

    private CertCommand() {}

    /** Makes the requested file. Returns a line with its path. */
    static String run(CertRequest request, Path home) throws IOException {
        String folder = request.folder().toString();
        if (request.names().isEmpty()) {
            String file = call(home, "init", new Class<?>[] {String.class}, folder);
            return "made " + file + "; next, for each host and user: jrun cert node NAME";
        }
        Path authority = request.folder().resolve("ca.pem");
        if (Files.exists(authority) && !Files.isRegularFile(authority)) {
            throw new UsageException(
                    "cert: " + authority + ": not a regular file. Give the --dir of 'jrun cert init'.");
        }
        String file = call(
                home,
                "node",
                new Class<?>[] {String.class, List.class, int.class},
                folder,
                request.names(),
                request.days());
        return "made " + file + "; copy the file to " + request.names().getFirst()
                + " and name it with --secret-file there";
    }

    private static String call(Path home, String method, Class<?>[] types, Object... arguments) throws IOException {
        try (URLClassLoader loader = new URLClassLoader(classPath(home), ClassLoader.getPlatformClassLoader())) {
            return (String) loader.loadClass(AUTHORITY).getMethod(method, types).invoke(null, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof UncheckedIOException refused) {
                throw new UsageException(
                        "cert: " + Objects.requireNonNull(refused.getCause()).getMessage() + ".");
            }
            throw new IllegalStateException("certificates cannot be made", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this installation has no lib/cert", e);
        }
    }

    /**
     * The class path has the launcher's own jar too, because the loaded class must find the library in its own class
     * loader.
     */
    private static URL[] classPath(Path home) throws IOException {
        List<URL> jars = new ArrayList<>();
        jars.add(CertCommand.class.getProtectionDomain().getCodeSource().getLocation());
        try (Stream<Path> library = Files.list(home.resolve("lib/cert"))) {
            for (Path jar : library.toList()) {
                jars.add(jar.toUri().toURL());
            }
        }
        return jars.toArray(URL[]::new);
    }
}
