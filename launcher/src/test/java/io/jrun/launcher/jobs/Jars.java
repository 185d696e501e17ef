package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** Compiles small programs and packs them into jars. */
final class Jars {
    private Jars() {}

    /** Makes {@code jar} of one class, which its manifest names as the main class. */
    static Path program(Path jar, String className, String source) {
        return program(jar, className, source, Map.of());
    }

    /** The same with more {@code attributes} in the manifest. */
    static Path program(Path jar, String className, String source, Map<String, String> attributes) {
        try {
            Path classes = compile(jar.resolveSibling(jar.getFileName() + ".classes"), className, source);
            Manifest manifest = new Manifest();
            manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
            manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, className);
            attributes.forEach(manifest.getMainAttributes()::putValue);
            try (OutputStream out = Files.newOutputStream(jar);
                    JarOutputStream packed = new JarOutputStream(out, manifest);
                    Stream<Path> files = Files.walk(classes)) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    packed.putNextEntry(new JarEntry(classes.relativize(file).toString()));
                    Files.copy(file, packed);
                }
            }
            return jar;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Compiles one class against jrun's runtime; returns the folder of classes. */
    static Path compile(Path folder, String className, String source) throws IOException {
        Path file = folder.resolve("src").resolve(className.replace('.', '/') + ".java");
        Files.createDirectories(file.getParent());
        Files.writeString(file, source);
        Path classes = Files.createDirectories(folder.resolve("classes"));
        int result = ToolProvider.getSystemJavaCompiler()
                .run(System.in, System.out, System.err, "-d", classes.toString(), "-cp", runtime(), file.toString());
        assertThat(result).as("javac " + className).isZero();
        return classes;
    }

    private static String runtime() throws IOException {
        Path folder = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")), "lib", "runtime");
        try (Stream<Path> jars = Files.list(folder)) {
            List<String> paths = jars.map(Path::toString).toList();
            return String.join(":", paths);
        }
    }
}
