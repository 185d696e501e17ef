package io.jrun.launcher.image;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs a program of this node that makes images. Stateless. */
final class ToolRun {
    private static final int MAX_CHARS = 300;

    private ToolRun() {}

    /** Whether a program is on the PATH. */
    static boolean has(Map<String, String> environment, String program) {
        for (String folder : environment.getOrDefault("PATH", "/usr/bin:/bin").split(":", -1)) {
            if (folder.startsWith("/") && Files.isExecutable(Path.of(folder, program))) {
                return true;
            }
        }
        return false;
    }

    /**
     * Runs a program to its end, and returns what it has printed. The program gets TERM when jrun ends, however jrun
     * ends.
     *
     * @param packageName Debian's package of the program
     * @throws ContainerException if the program is missing or fails; one sentence with its last line
     */
    static String run(Map<String, String> environment, String packageName, List<String> command)
            throws ContainerException, IOException, InterruptedException {
        String program = command.getFirst();
        if (!program.startsWith("/") && !has(environment, program)) {
            throw new ContainerException("the program '" + program + "' is not on PATH; install " + packageName);
        }
        List<String> words = new ArrayList<>(List.of("setpriv", "--pdeathsig", "TERM"));
        words.addAll(command);
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        try {
            process.getOutputStream().close();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            int code = process.waitFor();
            if (code != 0) {
                throw new ContainerException(program + " failed with exit code " + code + ": " + lastLine(said));
            }
            return said;
        } finally {
            process.destroyForcibly();
        }
    }

    private static String lastLine(String said) {
        String last =
                said.strip().lines().reduce("no message", (_, line) -> line).strip();
        return last.length() > MAX_CHARS ? last.substring(0, MAX_CHARS) + "..." : last;
    }
}
