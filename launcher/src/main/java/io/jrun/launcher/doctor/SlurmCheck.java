package io.jrun.launcher.doctor;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Checks whether this machine can submit jobs to Slurm, or run jobs in the allocation of this process. */
final class SlurmCheck implements Check {
    private static final long LIMIT_SECONDS = 10;

    private final Map<String, String> environment;

    SlurmCheck(Map<String, String> environment) {
        this.environment = environment;
    }

    @Override
    public List<CheckResult> run() throws IOException, InterruptedException {
        String job = environment.getOrDefault("SLURM_JOB_ID", "");
        if (CommandResult.find("srun", environment).isEmpty()) {
            return List.of(
                    job.isEmpty()
                            ? CheckResult.absent("slurm", "no 'srun' on the PATH")
                            : CheckResult.problem(
                                    "slurm",
                                    "inside job " + job
                                            + ", but no 'srun' on the PATH; jrun starts its agents with it"));
        }
        CommandResult srun = CommandResult.of(List.of("srun", "--version"), LIMIT_SECONDS);
        String version = srun.isWell() ? srun.lastLine() : "srun";
        CommandResult nodes =
                CommandResult.of(List.of("sinfo", "--noheader", "--Node", "--format=%N %t"), LIMIT_SECONDS);
        if (!nodes.isWell()) {
            String words = version + " is here, but its controller does not answer: " + nodes.lastLine()
                    + "; check the controller with 'scontrol ping'";
            return List.of((job.isEmpty() ? CheckResult.absent("slurm", words) : CheckResult.problem("slurm", words))
                    .with("version", version));
        }
        long all = nodes.lines().stream().distinct().count();
        String where = job.isEmpty()
                ? "outside of any job ('jrun submit' submits one)"
                : "inside job " + job + " of " + environment.getOrDefault("SLURM_JOB_NUM_NODES", "1") + " nodes";
        return List.of(CheckResult.ok("slurm", version + ", a cluster of " + all + " nodes, " + where)
                .with("version", version)
                .with("nodes", all)
                .with("job", job));
    }
}
