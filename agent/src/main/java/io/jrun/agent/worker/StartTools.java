package io.jrun.agent.worker;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The tools with which this machine starts workers, as packages with versions. Stateless. */
public final class StartTools {
    private static final Pattern VERSION = Pattern.compile("\\b\\d+\\.\\d+(?:\\.\\d+)?\\b");
    private static final long DEADLINE_SECONDS = 5;

    private StartTools() {}

    /**
     * The found tools.
     *
     * @param versions the versions, such as {@code util-linux 2.38.1, coreutils 9.1}
     * @param missing a message about missing or too old tools; empty if there are none
     */
    public record Found(String versions, String missing) {}

    /**
     * Finds the tools that jobs need, also jobs in a Slurm allocation.
     *
     * @param environment the environment of the agent
     */
    public static Found find(Map<String, String> environment) throws InterruptedException {
        String versions = "util-linux " + version("setpriv") + ", coreutils " + version("env");
        Map<String, String> inSlurm = new HashMap<>(environment);
        inSlurm.putIfAbsent("SLURM_JOB_ID", "");
        try {
            var _ = ParentDeath.find(inSlurm);
            return new Found(versions, "");
        } catch (IOException e) {
            return new Found(versions, String.valueOf(e.getMessage()));
        }
    }

    private static String version(String program) throws InterruptedException {
        try {
            Process versionProcess = new ProcessBuilder(program, "--version")
                    .redirectErrorStream(true)
                    .start();
            if (!versionProcess.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
                versionProcess.destroyForcibly();
                return "unknown";
            }
            Matcher found =
                    VERSION.matcher(new String(versionProcess.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            return found.find() ? found.group() : "unknown";
        } catch (IOException e) {
            return "unknown";
        }
    }
}
