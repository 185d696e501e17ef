package io.jrun.launcher;

import io.jrun.launcher.cli.DoctorRequest;
import io.jrun.launcher.coordinator.Agent;
import io.jrun.launcher.doctor.Check;
import io.jrun.launcher.doctor.Doctor;
import io.jrun.launcher.doctor.HostsCheck;
import io.jrun.launcher.doctor.SshCheck;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.ssh.SshAgentLauncher;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** {@code jrun doctor}: checks this machine and the named hosts. */
final class DoctorCommand {
    /** The time for a login and the start of a JVM, or for a standing agent that lists GPUs. */
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private DoctorCommand() {}

    /** Prints the results. Returns the exit code. */
    static int run(DoctorRequest request, Path home, Path command, Terminal terminal)
            throws IOException, InterruptedException {
        if (request.cluster().isEmpty()) {
            return report(
                    Doctor.examine(home, command, Version.TEXT, List.of(), request.container()), request, terminal);
        }
        Cluster cluster = request.cluster().get();
        try (JobAgents agents = JobAgents.open(cluster, home, _ -> {})) {
            return report(
                    Doctor.examine(home, command, Version.TEXT, checks(cluster, agents, home), request.container()),
                    request,
                    terminal);
        }
    }

    private static int report(Doctor doctor, DoctorRequest request, Terminal terminal) {
        terminal.print(request.json() ? doctor.json() : String.join("\n", doctor.lines()));
        return doctor.exitCode();
    }

    private static List<Check> checks(Cluster cluster, JobAgents agents, Path home) {
        OptionalInt port = cluster.reach() instanceof Cluster.Standing standing
                ? OptionalInt.of(standing.agentPort())
                : OptionalInt.empty();
        Check hosts = new HostsCheck(
                cluster.names(), agents.list().stream().map(Agent::route).toList(), port, TIMEOUT, Version.TEXT);
        return port.isPresent()
                ? List.of(
                        hosts,
                        new SshCheck(
                                cluster.names(), new SshAgentLauncher(List.of(), "jrun", home.toString(), Map.of())))
                : List.of(hosts);
    }
}
