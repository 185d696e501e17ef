package io.jrun.launcher.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.ZipFile;

/** Looks for a program's main class before any worker starts. Confined to one thread. */
final class MainClassCheck {
    /** Options with which a JVM has classes from elsewhere. */
    private static final List<String> OTHER_SOURCES = List.of(
            "-cp",
            "-classpath",
            "--class-path",
            "-Xbootclasspath",
            "--patch-module",
            "-javaagent",
            "-agent",
            "-p",
            "--module-path",
            "-m",
            "--module",
            "--add-modules",
            "-Djava.system.class.loader",
            "@");

    private final String file;
    private final String packageName;
    private final Set<Path> seen = new HashSet<>();

    private MainClassCheck(String mainClass) {
        this.file = mainClass.replace('.', '/') + ".class";
        int dot = mainClass.lastIndexOf('.');
        this.packageName = dot < 0 ? "" : mainClass.substring(0, dot);
    }

    /**
     * Whether {@code mainClass} is certainly missing. What cannot be read, or may have classes from elsewhere, counts
     * as having it.
     *
     * @param classPath jars, folders, and folders of jars that end in "/*"
     * @param runtime the folder of jrun's own jars for workers
     * @param options of the JVM
     */
    static boolean isMissing(String mainClass, List<String> classPath, Path runtime, List<String> options) {
        if (options.stream().anyMatch(option -> OTHER_SOURCES.stream().anyMatch(option::startsWith))) {
            return false;
        }
        MainClassCheck check = new MainClassCheck(mainClass);
        try {
            return classPath.stream().noneMatch(check::isIn) && !check.isIn(runtime + "/*") && !check.isInJdk();
        } catch (UncheckedIOException e) {
            return false;
        }
    }

    private boolean isIn(String entry) {
        if (entry.endsWith("/*")) {
            Path folder = Path.of(entry.substring(0, entry.length() - 2));
            return Files.isDirectory(folder) && isInAJarOf(folder);
        }
        Path path = Path.of(entry);
        return Files.isDirectory(path) ? Files.isRegularFile(path.resolve(file)) : Files.exists(path) && isInJar(path);
    }

    private boolean isInAJarOf(Path folder) {
        try (Stream<Path> jars = Files.list(folder)) {
            return jars.filter(jar ->
                            jar.toString().endsWith(".jar") || jar.toString().endsWith(".JAR"))
                    .anyMatch(this::isInJar);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A jar may name others. */
    private boolean isInJar(Path jar) {
        if (!seen.add(jar)) {
            return false;
        }
        try (JarFile opened = new JarFile(jar.toFile(), false, ZipFile.OPEN_READ, Runtime.version())) {
            return opened.getEntry(file) != null
                    || JarManifest.read(jar).classPath().stream().anyMatch(this::isIn);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean isInJdk() {
        return ModuleFinder.ofSystem().findAll().stream()
                .anyMatch(module -> module.descriptor().packages().contains(packageName));
    }
}
