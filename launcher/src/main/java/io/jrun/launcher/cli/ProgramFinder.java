package io.jrun.launcher.cli;

import io.jrun.agent.node.JdkRelease;
import io.jrun.agent.node.SearchPath;
import io.jrun.launcher.blas.MklJars;
import io.jrun.launcher.job.Program;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.source.SourceCompiler;
import io.jrun.launcher.source.SourceProgram;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Finds PROGRAM and decides its kind. An error is one line. */
final class ProgramFinder {
    /** The names of the commands that run a program in other launchers. jrun has no such command. */
    private static final Set<String> RUN = Set.of("run", "exec", "launch", "start");

    private static final String ENABLE_PREVIEW = "--enable-preview";

    private final ResolvedOptions settings;
    private final CommandContext commandContext;

    ProgramFinder(ResolvedOptions settings, CommandContext commandContext) {
        this.settings = settings;
        this.commandContext = commandContext;
    }

    /** Finds the program {@code word} with its arguments {@code args}. */
    Program find(String word, List<String> args) {
        if (word.isBlank()) {
            throw new UsageException("PROGRAM is '" + word + "'; name a jar or an executable.");
        }
        if (isSource(word)) {
            return source(word, args);
        }
        if (isJava(word)) {
            return java(word, args);
        }
        refuseOtherSources(word);
        refuseOptionsOfJava(word);
        Optional<List<String>> python = python(word);
        return python.isPresent()
                ? new Program.Executable(
                        executable(commandContext.variable("PYTHON_EXEC", "python3")),
                        Stream.concat(python.get().stream(), args.stream()).toList())
                : new Program.Executable(executable(word), args);
    }

    /** The words with which Python runs {@code word}, empty if {@code word} is no Python program. */
    private Optional<List<String>> python(String word) {
        boolean isScript = settings.isOn(LaunchOption.RUN_PATH); // as in torchrun, stronger than the others
        boolean isModule = !isScript && settings.isOn(LaunchOption.MODULE);
        if (isModule && settings.isOn(LaunchOption.NO_JAVA)) {
            throw new UsageException(settings.name(LaunchOption.MODULE) + " and " + settings.name(LaunchOption.NO_JAVA)
                    + " exclude each other: one runs PROGRAM with Python, one without. Leave one of them out.");
        }
        if ((isScript || isModule) && word.endsWith(".jar")) {
            throw new UsageException(settings.name(isScript ? LaunchOption.RUN_PATH : LaunchOption.MODULE)
                    + " is for Python programs, but '" + word + "' is a jar. Leave it out.");
        }
        if (isModule) {
            return Optional.of(List.of("-u", "-m", word));
        }
        Path path = commandContext.resolve(word);
        boolean isOfImage = isOfImage(word, path);
        boolean isPlainScript = word.endsWith(".py")
                && Files.isRegularFile(path)
                && !Files.isExecutable(path)
                && !settings.isOn(LaunchOption.NO_JAVA);
        if (!isScript && !isPlainScript) {
            return Optional.empty();
        }
        if (!isOfImage && !Files.isRegularFile(path)) {
            throw missing(word, path);
        }
        return Optional.of(List.of("-u", settings.has(LaunchOption.WORKDIR) ? path.toString() : word));
    }

    private void refuseOptionsOfJava(String word) {
        for (LaunchOption option : List.of(
                LaunchOption.MAIN_CLASS,
                LaunchOption.CLASSPATH,
                LaunchOption.JVM_OPTS,
                LaunchOption.JAVA,
                LaunchOption.BLAS)) {
            if (settings.has(option)) {
                throw new UsageException(settings.name(option) + " is for jars, but '" + word
                        + "' is run as an executable. Leave it out, or name a jar.");
            }
        }
    }

    /** Whether a JVM runs {@code word}, judged by the name and the options. The file may be missing. */
    boolean isJava(String word) {
        if (settings.isOn(LaunchOption.NO_JAVA)
                || settings.isOn(LaunchOption.MODULE)
                || settings.isOn(LaunchOption.RUN_PATH)) {
            return false;
        }
        Path path = commandContext.resolve(word);
        return word.endsWith(".jar")
                || isSource(word)
                || isZip(path)
                || (settings.has(LaunchOption.MAIN_CLASS) && Files.isDirectory(path));
    }

    private static boolean isZip(Path path) {
        if (!Files.isRegularFile(path)) {
            return false;
        }
        try (InputStream in = Files.newInputStream(path)) {
            return Arrays.equals(in.readNBytes(4), new byte[] {'P', 'K', 3, 4});
        } catch (IOException e) {
            return false;
        }
    }

    private Program java(String word, List<String> args) {
        Path path = commandContext.resolve(word);
        boolean ofImage = isOfImage(word, path);
        JarManifest manifest = ofImage || Files.isDirectory(path) ? JarManifest.NONE : manifest(word, path);
        String mainClass =
                settings.text(LaunchOption.MAIN_CLASS, manifest.mainClass().orElse(""));
        if (mainClass.isEmpty() && !ofImage) { // the agent reads the manifest of a jar in an image
            throw new UsageException(word
                    + ": the jar's manifest names no Main-Class. Name one with --main-class, or set it in the build.");
        }
        List<String> classPath = new ArrayList<>();
        classPath.add(path.toString());
        classPath.addAll(manifest.classPath());
        classPath.addAll(userClassPath());
        Program.JavaProgram program = javaProgram(path, classPath, mainClass, manifest.options(), args);
        if (!ofImage && MainClassCheck.isMissing(mainClass, classPath, runtime(), program.jvmOptions())) {
            throw new UsageException(
                    word + ": the main class '" + mainClass + "' is neither in the jar nor on the class path."
                            + " Name one with --main-class, or add its jar with --classpath.");
        }
        return program;
    }

    private Path runtime() {
        return commandContext.home().resolve("lib/runtime");
    }

    private List<String> userClassPath() {
        return settings.all(LaunchOption.CLASSPATH).stream()
                .flatMap(paths -> Stream.of(paths.split(":")))
                .filter(part -> !part.isEmpty())
                .map(this::classPathEntry)
                .toList();
    }

    private Program.JavaProgram javaProgram(
            Path path, List<String> classPath, String mainClass, List<String> manifestOptions, List<String> args) {
        refuseBuildForGpus(classPath);
        List<String> all = new ArrayList<>(classPath);
        List<String> jvmOptions = new ArrayList<>();
        if (settings.text(LaunchOption.BLAS, "").equals("mkl")) {
            MklJars.of(commandContext.environment()).paths().forEach(jar -> all.add(jar.toString()));
            jvmOptions.add(MklJars.JVM_OPTION);
        }
        jvmOptions.addAll(jvmOptions());
        return new Program.JavaProgram(path.toString(), javaHome(), all, mainClass, manifestOptions, jvmOptions, args);
    }

    private boolean isSource(String word) {
        return word.endsWith(".java")
                && !settings.isOn(LaunchOption.NO_JAVA)
                && !settings.isOn(LaunchOption.MODULE)
                && !settings.isOn(LaunchOption.RUN_PATH);
    }

    /** Compiles a source file. The class path of the workers is the jar of the result. */
    private Program source(String word, List<String> args) {
        Path path = commandContext.resolve(word);
        if (!Files.isRegularFile(path)) {
            throw isOfImage(word, path)
                    ? new UsageException(word + ": jrun compiles a source file on this machine, which does not have"
                            + " the file. Name a file of this machine, or a jar of the image.")
                    : missing(word, path);
        }
        List<String> given = userClassPath();
        List<Path> classPath = new ArrayList<>();
        try (Stream<Path> jars = Files.list(runtime())) {
            jars.filter(jar -> jar.toString().endsWith(".jar")).sorted().forEach(classPath::add);
        } catch (IOException e) {
            throw new UsageException("this installation of jrun has no " + runtime() + ". Install jrun again.");
        }
        given.forEach(entry -> classPath.add(Path.of(entry)));
        List<String> options = jvmOptions().contains(ENABLE_PREVIEW)
                ? List.of(
                        ENABLE_PREVIEW,
                        "--release",
                        Integer.toString(Runtime.version().feature()))
                : List.of();
        SourceProgram compiled = new SourceCompiler(commandContext.environment(), System.err::println)
                .compile(word, path, classPath, options);
        List<String> all = new ArrayList<>();
        all.add(compiled.jar().toString());
        compiled.dependencies().forEach(jar -> all.add(jar.toString()));
        all.addAll(given);
        String mainClass = settings.text(LaunchOption.MAIN_CLASS, compiled.mainClass());
        return javaProgram(path, all, mainClass, List.of(), args);
    }

    /** Other languages of the JVM have no compiler in the JDK. */
    private void refuseOtherSources(String word) {
        if (settings.isOn(LaunchOption.NO_JAVA)) {
            return;
        }
        if (word.endsWith(".kt") || word.endsWith(".kts")) {
            throw new UsageException(word + ": jrun compiles Java, not Kotlin. Run 'kotlinc " + word
                    + " -cp \"$(jrun classpath)\" -include-runtime -d train.jar', then 'jrun train.jar'.");
        }
        if (word.endsWith(".scala") || word.endsWith(".sc")) {
            throw new UsageException(word + ": jrun compiles Java, not Scala. Run 'scala-cli --power package " + word
                    + " --jar \"$(jrun classpath)\" --assembly -o train.jar', then 'jrun train.jar'.");
        }
    }

    /** The runtime has a build of libtorch already. A second build in the same process ends the process. */
    private static void refuseBuildForGpus(List<String> classPath) {
        for (String entry : classPath) {
            String name = entry.substring(entry.lastIndexOf('/') + 1);
            if (name.startsWith("pytorch-") && name.endsWith("-gpu.jar")) {
                throw new UsageException(entry + " is on the class path, beside the build of libtorch that jrun brings."
                        + " Take the jar off the class path and run 'jrun cuda install': jrun then uses libtorch's CUDA"
                        + " build on GPUs.");
            }
        }
    }

    private JarManifest manifest(String word, Path path) {
        if (!Files.isRegularFile(path)) {
            throw missing(word, path);
        }
        try {
            return JarManifest.read(path);
        } catch (IOException e) {
            throw new UsageException(word + ": not a readable jar (" + e.getMessage()
                    + "). Build it again, or use --no-java if it is an executable.");
        }
    }

    private static UsageException missing(String word, Path path) {
        if (Files.isDirectory(path)) {
            return new UsageException(word + ": a folder, not a program. Name a jar or an executable in it,"
                    + " or the main class of a folder of classes with --main-class.");
        }
        String why = Files.exists(path) ? "a pipe or a device, not a file" : MissingPath.words(path);
        return new UsageException(word + ": " + why + Suggestion.didYouMean(word, neighbours(word, path)));
    }

    private static List<String> neighbours(String word, Path path) {
        Path parent = path.getParent();
        if (parent == null || !Files.isDirectory(parent)) {
            return List.of();
        }
        String front = word.substring(0, word.lastIndexOf('/') + 1);
        try (Stream<Path> files = Files.list(parent)) {
            return files.filter(file -> !file.equals(path))
                    .map(file -> front + file.getFileName())
                    .filter(name -> name.endsWith(".jar") || name.endsWith(".java"))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    private String classPathEntry(String part) {
        Path path = commandContext.resolve(part.endsWith("/*") ? part.substring(0, part.length() - 1) : part);
        if (!Files.exists(path) && !isOfImage(part, path)) {
            throw new UsageException(settings.name(LaunchOption.CLASSPATH) + ": " + part + ": "
                    + MissingPath.words(path, "no such file or folder") + ".");
        }
        if (Files.exists(path) && !Files.isDirectory(path) && !Files.isRegularFile(path)) {
            throw new UsageException(settings.name(LaunchOption.CLASSPATH) + ": " + part
                    + ": a pipe or a device, neither a jar nor a folder.");
        }
        return part.endsWith("/*") ? path + "/*" : path.toString();
    }

    private List<String> jvmOptions() {
        List<String> options = new ArrayList<>();
        for (String text : settings.all(LaunchOption.JVM_OPTS)) {
            options.addAll(OptionValues.shellWords(text, settings.name(LaunchOption.JVM_OPTS)));
        }
        if (!options.isEmpty()
                && !options.getFirst().startsWith("-")
                && !options.getFirst().startsWith("@")) {
            throw OptionValues.refused(
                    settings.name(LaunchOption.JVM_OPTS),
                    options.getFirst(),
                    "options of a JVM, which begin with a dash");
        }
        return options;
    }

    private String javaHome() {
        if (!settings.has(LaunchOption.JAVA)) {
            return "";
        }
        String text = settings.text(LaunchOption.JAVA, "");
        Path path = commandContext.resolve(text);
        Path home = path.endsWith("bin/java") ? path.resolve("../..").normalize() : path;
        if (!Files.isExecutable(home.resolve("bin/java"))) {
            throw new UsageException(
                    settings.name(LaunchOption.JAVA) + ": no bin/java in " + text + ". Give the folder of a JDK.");
        }
        Optional<JdkRelease> release = JdkRelease.of(home).filter(found -> found.feature() > 0);
        if (release.isPresent() && release.get().feature() < JdkRelease.NEEDED) {
            throw new UsageException(settings.name(LaunchOption.JAVA) + ": " + text + " is Java "
                    + release.get().version() + ", and jrun's runtime needs Java " + JdkRelease.NEEDED
                    + " or newer. Give the folder of such a JDK.");
        }
        return home.toString();
    }

    /** Whether the job has containers and the file is not on this machine, so the image must have the file. */
    private boolean isOfImage(String word, Path path) {
        return ContainerOptions.areGiven(settings) && word.startsWith("/") && !Files.exists(path);
    }

    private String executable(String word) {
        Path given = commandContext.resolve(word);
        if (isOfImage(word, given)) {
            return word;
        }
        if (ContainerOptions.areGiven(settings) && !word.contains("/") && !Files.isRegularFile(given)) {
            return word; // the agent searches the PATH of the image
        }
        if (word.contains("/") || ContainerOptions.areGiven(settings)) {
            return executableFile(word, given);
        }
        Optional<Path> onPath = SearchPath.of(commandContext.environment(), commandContext.directory())
                .find(word);
        if (onPath.isPresent()) {
            return onPath.get().toString();
        }
        Path here = commandContext.resolve(word);
        if (Files.isRegularFile(here)) {
            return executableFile(word, here);
        }
        throw new UsageException(word + ": no such program on PATH and no such file here" + meant(word, here));
    }

    /** The end of the message about a missing program: a hint if the word is a mistyped sub-command. */
    private static String meant(String word, Path here) {
        if (SubCommand.of(word).isPresent()) {
            return "; the command '" + word + "' comes first: jrun " + word + " [options].";
        }
        if (RUN.contains(word)) {
            return "; leave '" + word + "' out: jrun [options] PROGRAM [args...].";
        }
        return SubCommand.near(word)
                .map(command -> "; did you mean 'jrun " + command.word() + "'?")
                .orElseGet(() -> Suggestion.didYouMean(word, neighbours(word, here)));
    }

    private static String executableFile(String word, Path path) {
        if (!Files.isRegularFile(path)) {
            throw missing(word, path);
        }
        if (!Files.isExecutable(path)) {
            String hint = word.endsWith(".py")
                    ? "run it with 'python3 " + word + "'"
                    : "chmod +x it, or name its interpreter";
            throw new UsageException(word + ": not executable; " + hint + ".");
        }
        return path.toString();
    }
}
