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

/** Searches for a program's main class before a worker starts. Confined to one thread. */
final class MainClassCheck {
    /** Options that give a JVM further sources of classes. */
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
     * Whether {@code mainClass} is certainly missing. A class path that cannot be read, or has further sources, counts
     * as having the class.
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

    /** Adds the jars that a jar names in its manifest. */
    private boolean isInJar(Path jar) {
        if (!seen.add(jar)) {
            return false;
        }
        try {
            JarManifest manifest = JarManifest.read(jar);
            try (JarFile opened = new JarFile(jar.toFile(), false, ZipFile.OPEN_READ, Runtime.version())) {
                return opened.getEntry(file) != null
                        || manifest.classPath().stream().anyMatch(this::isIn);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean isInJdk() {
        return ModuleFinder.ofSystem().findAll().stream()
                .anyMatch(module -> module.descriptor().packages().contains(packageName));
    }
}
