package io.jrun.launcher.slurm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Queries Slurm's controller about a job, for facts that the environment lacks. */
@FunctionalInterface
public interface JobQuery {
    /**
     * Seconds to wait for the controller, which may be slow under load. Without an answer the GPUs of the job are
     * unknown.
     */
    long SECONDS = 20;

    /** Returns the words of {@code scontrol show job -d -o}; empty without an answer. */
    List<String> words(String jobId);

    /** Runs {@code scontrol}. */
    static List<String> scontrol(String jobId) {
        try {
            Process process = new ProcessBuilder("scontrol", "show", "job", "-d", "-o", jobId)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            process.getOutputStream().close();
            if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) { // the output is one line, which fits into the pipe
                process.destroyForcibly();
                return List.of();
            }
            String line = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return List.of(line.strip().split("\\s+"));
        } catch (IOException e) {
            return List.of();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of();
        }
    }
}
