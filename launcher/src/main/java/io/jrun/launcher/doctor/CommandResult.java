package io.jrun.launcher.doctor;

import io.jrun.agent.node.SearchPath;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The result of a program on this machine.
 *
 * @param exitCode 124 if the program did not end in time
 * @param lines the lines of both streams, without empty lines
 */
record CommandResult(int exitCode, List<String> lines) {
    private static final int NO_ANSWER = 124;

    /** Runs a command without stdin until it ends, or for {@code seconds}. */
    static CommandResult of(List<String> command, long seconds) throws IOException, InterruptedException {
        Path output = Files.createTempFile("jrun-doctor", ".txt");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(seconds, TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly().waitFor();
            }
            List<String> lines = Files.readString(output, StandardCharsets.UTF_8)
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty())
                    .toList();
            return ended
                    ? new CommandResult(process.exitValue(), lines)
                    : new CommandResult(NO_ANSWER, List.of("no answer within " + seconds + " s"));
        } finally {
            Files.delete(output);
        }
    }

    boolean isWell() {
        return exitCode == 0;
    }

    /** The last line, empty without output. */
    String lastLine() {
        return lines.isEmpty() ? "" : lines.getLast();
    }

    /** Returns the path of a program on the PATH. */
    static Optional<Path> find(String program, Map<String, String> environment) {
        return SearchPath.of(environment, Path.of("").toAbsolutePath()).find(program);
    }
}
