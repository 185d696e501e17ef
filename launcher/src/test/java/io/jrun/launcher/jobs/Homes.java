package io.jrun.launcher.jobs;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/** Copies of jrun's installation, to be changed. */
final class Homes {
    private Homes() {}

    /** Copies jrun's own jars into {@code target}, which links to the others; returns it. */
    static Path copy(Path target) throws IOException {
        Path source = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")));
        for (String part : new String[] {"lib/launcher", "lib/runtime"}) {
            Files.createDirectories(target.resolve(part));
            try (Stream<Path> jars = Files.list(source.resolve(part))) {
                for (Path jar : jars.toList()) {
                    Path place = target.resolve(part).resolve(jar.getFileName());
                    if (jar.getFileName().toString().startsWith("jrun-")) {
                        Files.copy(jar, place, StandardCopyOption.COPY_ATTRIBUTES);
                    } else {
                        Files.createSymbolicLink(place, jar);
                    }
                }
            }
        }
        return target;
    }

    /** Puts another class into that of {@code jars} whose name begins with {@code jarName}. */
    static void replaceClass(Path jars, String jarName, String className, String source) throws IOException {
        Path classes = Jars.compile(jars.resolveSibling(className), className, source);
        try (Stream<Path> files = Files.list(jars)) {
            Path jar = files.filter(file -> file.getFileName().toString().startsWith(jarName))
                    .findFirst()
                    .orElseThrow();
            try (FileSystem inside = FileSystems.newFileSystem(URI.create("jar:" + jar.toUri()), Map.of())) {
                String name = className.replace('.', '/') + ".class";
                Files.copy(classes.resolve(name), inside.getPath(name), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }
}
