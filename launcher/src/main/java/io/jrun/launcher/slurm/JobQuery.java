package io.jrun.launcher.slurm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** What Slurm's controller knows of a job; asked only where the environment does not tell. */
@FunctionalInterface
public interface JobQuery {
    /** A controller under load may take long; without an answer a job has no GPUs that jrun knows of. */
    long SECONDS = 20;

    /** The words of {@code scontrol show job -d -o}; none if there is no answer. */
    List<String> words(String jobId);

    /** Asks {@code scontrol}. */
    static List<String> scontrol(String jobId) {
        try {
            Process process = new ProcessBuilder("scontrol", "show", "job", "-d", "-o", jobId)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            process.getOutputStream().close();
            if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) { // its one line fits the pipe
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
