package io.jrun.launcher.slurm;

import io.jrun.agent.node.SearchPath;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Finds out whether srun can start agents here. A container of the job has Slurm's variables, but often neither srun nor
 * its configuration nor a way to the controller. Stateless.
 */
public final class SrunAccess {
    /** Seconds to wait for the controller. */
    private static final long SECONDS = 5;

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
            ProcessBuilder builder = new ProcessBuilder(scontrol.toString(), "ping").redirectErrorStream(true);
            builder.environment().putAll(environment);
            Process ping = builder.start();
            ping.getOutputStream().close();
            if (!ping.waitFor(SECONDS, TimeUnit.SECONDS)) { // the output is a line for each controller
                ping.destroyForcibly();
                return Optional.of("Slurm's controller did not answer within " + SECONDS + " s");
            }
            String said = new String(ping.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
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
