package io.jrun.launcher.slurm;

import io.jrun.agent.node.ProgramRun;
import io.jrun.agent.node.SearchPath;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Finds out whether srun can start agents here. A container of the job has Slurm's variables, but often neither srun nor
 * its configuration nor a way to the controller. Stateless.
 */
public final class SrunAccess {
    /** The time in which the controller must answer. */
    private static final Duration DEADLINE = Duration.ofSeconds(5);

    private SrunAccess() {}

    /**
     * Returns the reason why srun is of no use, without a full stop; empty if srun may work. Asks the controller only
     * if the allocation is the node of this process, because other allocations need srun in any case.
     */
    public static Optional<String> problem(Map<String, String> environment, Allocation allocation) {
        SearchPath path = SearchPath.ofTools(environment);
        if (path.find("srun").isEmpty()) {
            return Optional.of("srun is not on the PATH here");
        }
        return isThisNode(environment, allocation)
                ? path.find("scontrol").flatMap(scontrol -> silence(scontrol, environment))
                : Optional.empty();
    }

    /** Whether the allocation is the node on which Slurm started this process. */
    public static boolean isThisNode(Map<String, String> environment, Allocation allocation) {
        return allocation.nodes().size() == 1
                && allocation.nodes().getFirst().name().equals(environment.get("SLURMD_NODENAME"));
    }

    private static Optional<String> silence(Path scontrol, Map<String, String> environment) {
        try {
            Optional<ProgramRun> ping =
                    ProgramRun.of(List.of(scontrol.toString(), "ping"), environment, Path.of(""), DEADLINE);
            if (ping.isEmpty()) {
                return Optional.of("Slurm's controller did not answer within " + DEADLINE.toSeconds() + " s");
            }
            String said = ping.get().output(); // a line for each controller
            return said.contains("UP")
                    ? Optional.empty()
                    : Optional.of("Slurm's controller cannot be reached here: "
                            + said.strip().replaceAll("\\s+", " "));
        } catch (IOException e) {
            return Optional.of("scontrol cannot be started here");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }
}
