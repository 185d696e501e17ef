package io.jrun.launcher.source;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TaskEvent;
import com.sun.source.util.TaskListener;
import io.jrun.agent.files.PrivateFolder;
import io.jrun.agent.image.FolderDeletion;
import io.jrun.comm.file.ControlCharacters;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.launcher.job.UsageException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * Compiles a source file with the compiler of the launcher's JDK, by the rules of {@code java FILE.java}: the main class
 * is the first class of the file, and other classes are compiled from the folder of the file when the file uses them.
 * The result is kept in the cache of the user. Confined to one thread.
 */
public final class SourceCompiler {
    private static final int MAX_SOURCE_BYTES = 16 << 20;

    private final Map<String, String> environment;
    private final Consumer<String> notices;

    /**
     * @param environment of the user, for the cache and for Maven
     * @param notices receives lines for the user
     */
    public SourceCompiler(Map<String, String> environment, Consumer<String> notices) {
        this.environment = Map.copyOf(environment);
        this.notices = notices;
    }

    /**
     * Compiles {@code source}, unless the cache has the result.
     *
     * @param name the file as the user named the file
     * @param classPath jars and folders that the program has besides its own dependencies
     * @param options further options of the compiler
     * @throws UsageException if the file does not compile, after the compiler's messages went to {@code notices}
     */
    public SourceProgram compile(String name, Path source, List<Path> classPath, List<String> options) {
        try {
            SourceCache cache = SourceCache.claim(PrivateFolder.inCacheOrTemporary(environment));
            String key = key(source, classPath, options);
            Optional<SourceProgram> known = cache.find(key);
            if (known.isPresent()) {
                return known.get();
            }
            cache.sweep();
            Path work = Files.createTempDirectory(cache.folder(), "compile");
            try {
                return compile(name, source, classPath, options, cache, key, work);
            } finally {
                FolderDeletion.delete(work);
            }
        } catch (IOException e) {
            throw new UsageException(name + " cannot be compiled: " + FileError.reason(e, source) + ".");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UsageException(name + ": the search for its dependencies was interrupted.");
        }
    }

    private SourceProgram compile(
            String name,
            Path source,
            List<Path> classPath,
            List<String> options,
            SourceCache cache,
            String key,
            Path work)
            throws IOException, InterruptedException {
        SourceDirectives directives = SourceDirectives.read(name, text(name, source));
        directives.notes().forEach(note -> notices.accept("jrun: note: " + note));
        List<Path> dependencies = dependencies(name, directives.dependencies(), cache, work);
        Path classes = Files.createDirectory(work.resolve("classes"));
        List<Path> all =
                Stream.concat(classPath.stream(), dependencies.stream()).toList();
        Compilation compilation = new Compilation(name, source, all, options, classes);
        String mainClass = compilation.run(notices);
        Path jar = work.resolve("program.jar");
        writeJar(classes, mainClass, jar);
        SourceProgram program = new SourceProgram(cache.keep(baseName(source), jar), dependencies, mainClass);
        cache.put(key, program, compilation.sources());
        return program;
    }

    private List<Path> dependencies(
            String name, List<SourceDirectives.Dependency> dependencies, SourceCache cache, Path work)
            throws IOException, InterruptedException {
        if (dependencies.isEmpty()) {
            return List.of();
        }
        Optional<List<Path>> known = cache.jars(dependencies);
        if (known.isPresent()) {
            return known.get();
        }
        notices.accept("jrun: finding the jars of the //DEPS lines of " + name + " with Maven, once");
        List<Path> jars = MavenDependencies.resolve(
                name, dependencies, work, environment, line -> notices.accept("jrun: " + line));
        cache.putJars(dependencies, jars);
        return jars;
    }

    /** All that decides the result, but for the sources, which the cache compares itself. */
    private static String key(Path source, List<Path> classPath, List<String> options) throws IOException {
        StringBuilder all =
                new StringBuilder(source.toAbsolutePath() + "\n" + Runtime.version() + "\n" + options + "\n");
        for (Path entry : classPath) {
            all.append(entry);
            if (Files.isRegularFile(entry)) {
                all.append(' ').append(Files.size(entry)).append(' ').append(Files.getLastModifiedTime(entry));
            }
            all.append('\n');
        }
        return baseName(source) + "-" + SourceCache.hash(all.toString()).substring(0, 24);
    }

    private static String baseName(Path source) {
        String file = String.valueOf(source.getFileName());
        return file.substring(0, file.length() - ".java".length());
    }

    private static String text(String name, Path source) throws IOException {
        try (InputStream in = UserFile.stream(source)) {
            byte[] content = in.readNBytes(MAX_SOURCE_BYTES + 1);
            if (content.length > MAX_SOURCE_BYTES) {
                throw new UsageException(
                        name + ": a source file of more than " + (MAX_SOURCE_BYTES >> 20) + " MiB. Build a jar.");
            }
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(content))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new UsageException(name + " is not UTF-8. Save the file as UTF-8.");
        }
    }

    /** The entries have no time, so equal classes give equal jars. */
    private static void writeJar(Path classes, String mainClass, Path jar) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, mainClass);
        List<Path> files;
        try (Stream<Path> tree = Files.walk(classes)) {
            files = tree.filter(Files::isRegularFile).sorted().toList();
        }
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file)) {
            out.putNextEntry(entry("META-INF/MANIFEST.MF"));
            manifest.write(out);
            for (Path each : files) {
                out.putNextEntry(entry(classes.relativize(each).toString()));
                Files.copy(each, out);
            }
        }
    }

    private static JarEntry entry(String name) {
        JarEntry entry = new JarEntry(name);
        entry.setTimeLocal(LocalDateTime.of(1980, 1, 1, 0, 0));
        return entry;
    }

    /** The files of the compiler, without pipes and devices that have the name of a source file. */
    private static final class RegularSources extends ForwardingJavaFileManager<StandardJavaFileManager> {
        RegularSources(StandardJavaFileManager files) {
            super(files);
        }

        @Override
        public Iterable<JavaFileObject> list(
                Location location, String packageName, Set<JavaFileObject.Kind> kinds, boolean recurse)
                throws IOException {
            Iterable<JavaFileObject> all = super.list(location, packageName, kinds, recurse);
            return location == StandardLocation.SOURCE_PATH
                    ? StreamSupport.stream(all.spliterator(), false)
                            .filter(file -> Files.isRegularFile(Path.of(file.toUri())))
                            .toList()
                    : all;
        }
    }

    /** One run of the compiler. */
    private static final class Compilation {
        private final String name;
        private final Path source;
        private final List<Path> classPath;
        private final List<String> options;
        private final Path classes;
        private final Map<String, String> sources = new HashMap<>();

        Compilation(String name, Path source, List<Path> classPath, List<String> options, Path classes) {
            this.name = name;
            this.source = source;
            this.classPath = classPath;
            this.options = options;
            this.classes = classes;
        }

        /** The SHA-256 of the source files that were read, by their paths. */
        Map<String, String> sources() {
            return sources;
        }

        /** Compiles, and returns the name of the main class. */
        String run(Consumer<String> notices) throws IOException {
            JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
            if (compiler == null) {
                throw new UsageException(name + ": the Java of jrun in " + System.getProperty("java.home")
                        + " has no compiler. Set JAVA_HOME to a JDK, or compile the file to a jar.");
            }
            StringWriter messages = new StringWriter();
            try (StandardJavaFileManager files =
                    compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8)) {
                Iterable<? extends JavaFileObject> units = files.getJavaFileObjects(source);
                CompilationUnitTree unit = parse(compiler, files, units);
                List<String> words = options(unit);
                JavacTask task =
                        (JavacTask) compiler.getTask(messages, new RegularSources(files), null, words, null, units);
                task.addTaskListener(new TaskListener() {
                    @Override
                    public void finished(TaskEvent event) {
                        if (event.getKind() == TaskEvent.Kind.PARSE) {
                            addSource(event.getSourceFile());
                        }
                    }
                });
                boolean isCompiled = task.call();
                if (!isCompiled) {
                    notices.accept(
                            ControlCharacters.replaced(messages.toString().stripTrailing()));
                    throw new UsageException(name + " does not compile; the compiler's messages are above.");
                }
                return mainClass(unit);
            } catch (IllegalArgumentException e) {
                throw new UsageException(name + " cannot be compiled: " + e.getMessage() + ".");
            }
        }

        /** Errors of this pass are not printed: the compilation finds them again. */
        private static CompilationUnitTree parse(
                JavaCompiler compiler, StandardJavaFileManager files, Iterable<? extends JavaFileObject> units)
                throws IOException {
            JavacTask task = (JavacTask) compiler.getTask(new StringWriter(), files, _ -> {}, null, null, units);
            return task.parse().iterator().next();
        }

        private List<String> options(CompilationUnitTree unit) {
            List<String> words = new ArrayList<>(List.of(
                    "-d",
                    classes.toString(),
                    "-cp",
                    String.join(
                            File.pathSeparator,
                            classPath.stream().map(Path::toString).toList()),
                    "-sourcepath",
                    sourceRoot(unit).map(Path::toString).orElse(classes.toString()),
                    "-implicit:class",
                    "-g",
                    "-parameters",
                    "-Xlint:none",
                    "-nowarn",
                    "-proc:none",
                    "--add-modules",
                    "jdk.incubator.vector"));
            words.addAll(options);
            return words;
        }

        /** The folder of the packages; empty if the file does not lie in the folder of its package. */
        private Optional<Path> sourceRoot(CompilationUnitTree unit) {
            Path folder = Objects.requireNonNull(source.toAbsolutePath().getParent(), "a file has a folder");
            if (unit.getPackageName() == null) {
                return Optional.of(folder);
            }
            Path packages = Path.of(unit.getPackageName().toString().replace('.', '/'));
            if (!folder.endsWith(packages)) {
                return Optional.empty();
            }
            Path root = folder;
            for (int i = 0; i < packages.getNameCount(); i++) {
                root = Objects.requireNonNull(root.getParent(), "each package is a folder");
            }
            return Optional.of(root);
        }

        private String mainClass(CompilationUnitTree unit) {
            for (Tree type : unit.getTypeDecls()) {
                if (type instanceof ClassTree first) {
                    String simple = first.getSimpleName().isEmpty()
                            ? baseName(source)
                            : first.getSimpleName().toString();
                    return unit.getPackageName() == null ? simple : unit.getPackageName() + "." + simple;
                }
            }
            throw new UsageException(name + " has no class. Write a class with a main method.");
        }

        private void addSource(JavaFileObject file) {
            try (InputStream in = file.openInputStream()) {
                sources.put(Path.of(file.toUri()).toString(), SourceCache.hash(in.readAllBytes()));
            } catch (IOException e) {
                sources.put(file.getName(), ""); // never equal: the next start compiles again
            }
        }
    }
}
