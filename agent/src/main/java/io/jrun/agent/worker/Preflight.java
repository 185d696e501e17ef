package io.jrun.agent.worker;

import io.jrun.agent.node.SearchPath;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Checks a worker before the fork. setpriv would report a missing program only as exit code 127 and a line on the
 * worker's stderr. The user gets one message instead.
 */
final class Preflight {
    /** The reason why a worker could not be started, with the exit code of a shell. */
    record Failure(String reason, int exitCode) {}

    private static final int NOT_FOUND = 127;
    static final int NOT_EXECUTABLE = 126;

    private Preflight() {}

    static Optional<Failure> check(WorkerPlan plan) {
        return files(plan.neededFiles()).or(() -> check(plan.command(), plan.environment(), plan.workingDir()));
    }

    private static Optional<Failure> files(List<Path> needed) {
        for (Path file : needed) {
            if (!Files.exists(file)) {
                return failure(file + " does not exist on this node", NOT_FOUND);
            }
        }
        return Optional.empty();
    }

    private static Optional<Failure> check(List<String> command, Map<String, String> env, Path workingDir) {
        if (!Files.isDirectory(workingDir)) {
            return failure("the working directory " + workingDir + " does not exist on this node", NOT_FOUND);
        }
        return program(command.getFirst(), env, workingDir).or(() -> encoding(command, env));
    }

    private static Optional<Failure> program(String program, Map<String, String> env, Path workingDir) {
        if (program.contains("/")) {
            Path path = workingDir.resolve(program);
            if (!Files.exists(path)) {
                return failure(program + ": no such file (looked at " + path.normalize() + ")", NOT_FOUND);
            }
            return SearchPath.isProgram(path)
                    ? Optional.empty()
                    : failure(program + " is not executable; try chmod +x " + path.normalize(), NOT_EXECUTABLE);
        }
        SearchPath path = SearchPath.of(env, workingDir);
        return path.find(program).isPresent()
                ? Optional.empty()
                : failure(program + ": no such program on PATH (" + path.text() + ")", NOT_FOUND);
    }

    private static Optional<Failure> encoding(List<String> command, Map<String, String> env) {
        Charset charset = Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));
        if (charset.equals(StandardCharsets.UTF_8)) {
            return Optional.empty();
        }
        for (String word : command) {
            if (!charset.newEncoder().canEncode(word)) {
                return failure(lost("the argument '" + word + "'", charset), NOT_FOUND);
            }
        }
        for (Map.Entry<String, String> variable : env.entrySet()) {
            if (!charset.newEncoder().canEncode(variable.getValue())) {
                return failure(lost("the environment variable " + variable.getKey(), charset), NOT_FOUND);
            }
        }
        return Optional.empty();
    }

    private static String lost(String what, Charset charset) {
        return what + " cannot be passed to the worker: this JVM's locale has the encoding " + charset
                + "; start jrun with LC_ALL=C.UTF-8";
    }

    private static Optional<Failure> failure(String reason, int exitCode) {
        return Optional.of(new Failure(reason, exitCode));
    }
}
