package io.jrun.launcher;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program.JavaProgram;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Calls the benchmark program of an installation inside this process, to check its arguments and to print its help.
 * Starts no rank. Stateless.
 */
final class BenchProgram {
    private static final String MAIN_CLASS = "io.jrun.bench.BenchMain";

    private static final String FOLDER = "lib/bench";

    private BenchProgram() {}

    /**
     * Checks the arguments of a benchmark before ranks start, because each rank would report the error.
     *
     * @throws UsageException with one line for the user, if the benchmark refuses the arguments
     */
    static void check(JobSpec job, Path home) throws IOException {
        if (!(job.program() instanceof JavaProgram program)) {
            return;
        }
        String wrong = invoke("check", program.args(), home);
        if (!wrong.isEmpty()) {
            throw new UsageException("bench: " + wrong);
        }
    }

    /** Returns the help of the benchmark that {@code args} name, or of all benchmarks. */
    static String help(List<String> args, Path home) throws IOException {
        return invoke("help", args, home);
    }

    /** Returns the names of the benchmarks and of their options; empty if no benchmark program is installed. */
    static List<String> words(Path home) throws IOException {
        return Files.isDirectory(home.resolve(FOLDER))
                ? List.of(invoke("words", List.of(), home).split(" ", -1))
                : List.of();
    }

    private static String invoke(String method, List<String> args, Path home) throws IOException {
        List<URL> jars = new ArrayList<>();
        for (String folder : List.of(FOLDER, "lib/runtime")) {
            try (Stream<Path> files = Files.list(home.resolve(folder))) {
                for (Path jar : files.toList()) {
                    jars.add(jar.toUri().toURL());
                }
            }
        }
        try (URLClassLoader loader =
                new URLClassLoader(jars.toArray(URL[]::new), BenchProgram.class.getClassLoader())) {
            return (String) loader.loadClass(MAIN_CLASS)
                    .getMethod(method, String[].class)
                    .invoke(null, (Object) args.toArray(String[]::new));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the benchmark program of this installation cannot run " + method, e);
        }
    }
}
