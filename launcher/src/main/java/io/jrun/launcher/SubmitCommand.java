package io.jrun.launcher;

import io.jrun.launcher.cli.SubmitRequest;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.kubernetes.IndexedJob;
import io.jrun.launcher.slurm.OuterJob;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/** {@code jrun submit}: submits a job to Slurm, or prints one for Kubernetes. */
final class SubmitCommand {
    private SubmitCommand() {}

    /** Runs sbatch with the script and the streams of this process. Returns the exit code of sbatch. */
    static int run(SubmitRequest request, Terminal terminal) throws IOException, InterruptedException {
        return switch (request) {
            case SubmitRequest.ToKubernetes(IndexedJob job) -> {
                terminal.print(job.manifest().stripTrailing());
                yield 0;
            }
            case SubmitRequest.ToSlurm slurm -> run(slurm, terminal);
        };
    }

    private static int run(SubmitRequest.ToSlurm request, Terminal terminal) throws IOException, InterruptedException {
        if (request.print()) {
            terminal.print(request.script().text());
            return 0;
        }
        Process sbatch;
        try {
            ProcessBuilder builder = new ProcessBuilder("sbatch")
                    .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                    .redirectError(ProcessBuilder.Redirect.INHERIT);
            builder.environment().keySet().removeIf(OuterJob::describes);
            sbatch = builder.start();
        } catch (IOException e) {
            throw new UsageException(
                    "submit: sbatch is not on the PATH. Run this on a login node of a Slurm cluster, or"
                            + " with --print to see the script.");
        }
        try (OutputStream script = sbatch.getOutputStream()) {
            script.write(request.script().text().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            int exitCode = sbatch.waitFor();
            if (exitCode == 0) {
                throw e;
            }
            return exitCode; // sbatch has refused the job without reading the script, and has printed the reason
        }
        return sbatch.waitFor();
    }
}
