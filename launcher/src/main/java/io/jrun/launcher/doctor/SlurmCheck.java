package io.jrun.launcher.doctor;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Whether jobs can be submitted to Slurm from here, or run in the allocation that this process is in. */
final class SlurmCheck implements Check {
    private static final long LIMIT_SECONDS = 10;

    private final Map<String, String> environment;

    SlurmCheck(Map<String, String> environment) {
        this.environment = environment;
    }

    @Override
    public List<Finding> look() throws IOException, InterruptedException {
        String job = environment.getOrDefault("SLURM_JOB_ID", "");
        if (Asked.find("srun", environment).isEmpty()) {
            return List.of(
                    job.isEmpty()
                            ? Finding.absent("slurm", "no 'srun' on the PATH")
                            : Finding.problem(
                                    "slurm",
                                    "inside job " + job
                                            + ", but no 'srun' on the PATH; jrun starts its agents with it"));
        }
        Asked srun = Asked.of(List.of("srun", "--version"), LIMIT_SECONDS);
        String version = srun.isWell() ? srun.lastLine() : "srun";
        Asked nodes = Asked.of(List.of("sinfo", "--noheader", "--Node", "--format=%N %t"), LIMIT_SECONDS);
        if (!nodes.isWell()) {
            String words = version + " is here, but its controller does not answer: " + nodes.lastLine()
                    + "; does 'scontrol ping' say that it is up?";
            return List.of((job.isEmpty() ? Finding.absent("slurm", words) : Finding.problem("slurm", words))
                    .with("version", version));
        }
        long all = nodes.lines().stream().distinct().count();
        String where = job.isEmpty()
                ? "outside of any job ('jrun submit' submits one)"
                : "inside job " + job + " of " + environment.getOrDefault("SLURM_JOB_NUM_NODES", "1") + " nodes";
        return List.of(Finding.ok("slurm", version + ", a cluster of " + all + " nodes, " + where)
                .with("version", version)
                .with("nodes", all)
                .with("job", job));
    }
}
