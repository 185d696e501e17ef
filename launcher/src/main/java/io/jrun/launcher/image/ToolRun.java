package io.jrun.launcher.image;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.node.ProgramRun;
import io.jrun.agent.node.SearchPath;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs a program of this node that makes images. Stateless. */
final class ToolRun {
    /** The largest images take minutes. A mirror that does not answer must not keep the command for ever. */
    private static final Duration DEADLINE = Duration.ofHours(6);

    private ToolRun() {}

    /**
     * Runs a program to its end, and returns its output. The program gets TERM at any end of jrun.
     *
     * @param packageName Debian's package of the program
     * @throws ContainerException if the program is missing or fails; one sentence with its last line
     */
    static String run(Map<String, String> environment, String packageName, List<String> command)
            throws ContainerException, IOException, InterruptedException {
        String program = command.getFirst();
        Path tool = SearchPath.ofTools(environment)
                .find(program)
                .orElseThrow(() ->
                        new ContainerException("the program '" + program + "' is not on PATH; install " + packageName));
        List<String> words = new ArrayList<>(command);
        words.set(0, tool.toString());
        ProgramRun ended = ProgramRun.of(words, environment, Path.of(""), DEADLINE)
                .orElseThrow(() -> new ContainerException(
                        program + " has not ended within " + DEADLINE.toHours() + " hours and was stopped"));
        if (ended.exitCode() != 0) {
            throw new ContainerException(
                    program + " failed with exit code " + ended.exitCode() + ": " + ended.lastLine());
        }
        return ended.output();
    }
}
