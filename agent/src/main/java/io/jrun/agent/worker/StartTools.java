package io.jrun.agent.worker;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What this machine starts workers through, as its owner knows it: packages and their versions. Stateless. */
public final class StartTools {
    private static final Pattern VERSION = Pattern.compile("\\b\\d+\\.\\d+(?:\\.\\d+)?\\b");
    private static final long DEADLINE_SECONDS = 5;

    private StartTools() {}

    /**
     * What was found.
     *
     * @param versions as {@code util-linux 2.38.1, coreutils 9.1}
     * @param missing a sentence about what is missing or too old; empty if nothing is
     */
    public record Found(String versions, String missing) {}

    /**
     * Looks for what any job needs, one in a Slurm allocation included.
     *
     * @param environment the agent's
     */
    public static Found look(Map<String, String> environment) throws InterruptedException {
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
            Process asked = new ProcessBuilder(program, "--version")
                    .redirectErrorStream(true)
                    .start();
            if (!asked.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
                asked.destroyForcibly();
                return "unknown";
            }
            Matcher found = VERSION.matcher(new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            return found.find() ? found.group() : "unknown";
        } catch (IOException e) {
            return "unknown";
        }
    }
}
