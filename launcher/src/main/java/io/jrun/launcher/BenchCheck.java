package io.jrun.launcher;

import io.jrun.launcher.cli.UsageException;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program.JavaProgram;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Asks the benchmark program about its arguments before ranks are started, which would each complain. */
final class BenchCheck {
    private BenchCheck() {}

    /** @throws UsageException in one line, if the benchmark would refuse them */
    static void check(JobSpec job, Path home) throws IOException {
        if (!(job.program() instanceof JavaProgram program)) {
            return;
        }
        List<URL> jars = new ArrayList<>();
        for (String jar : program.classPath()) {
            jars.add(Path.of(jar).toUri().toURL());
        }
        try (Stream<Path> runtime = Files.list(home.resolve("lib/runtime"))) {
            for (Path jar : runtime.toList()) {
                jars.add(jar.toUri().toURL());
            }
        }
        String wrong;
        try (URLClassLoader loader = new URLClassLoader(jars.toArray(URL[]::new), BenchCheck.class.getClassLoader())) {
            wrong = (String) loader.loadClass(program.mainClass())
                    .getMethod("check", String[].class)
                    .invoke(null, (Object) program.args().toArray(String[]::new));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the benchmark program of this installation cannot be asked", e);
        }
        if (!wrong.isEmpty()) {
            throw new UsageException("bench: " + wrong);
        }
    }
}
