package io.jrun.launcher.image;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.node.SearchPath;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs a program of this node that makes images. Stateless. */
final class ToolRun {
    private static final int MAX_CHARS = 300;

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
        List<String> words = new ArrayList<>(List.of("setpriv", "--pdeathsig", "TERM", tool.toString()));
        words.addAll(command.subList(1, command.size()));
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        try {
            process.getOutputStream().close();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            int code = process.waitFor();
            if (code != 0) {
                throw new ContainerException(program + " failed with exit code " + code + ": " + lastLine(output));
            }
            return output;
        } finally {
            process.destroyForcibly();
        }
    }

    private static String lastLine(String output) {
        String last =
                output.strip().lines().reduce("no message", (_, line) -> line).strip();
        return last.length() > MAX_CHARS ? last.substring(0, MAX_CHARS) + "..." : last;
    }
}
