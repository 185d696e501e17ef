package io.jrun.launcher;

import io.jrun.agent.SocketTransport;
import io.jrun.launcher.cli.DoctorRequest;
import io.jrun.launcher.cli.UsageException;
import io.jrun.launcher.doctor.Doctor;
import io.jrun.launcher.doctor.HostsCheck;
import io.jrun.launcher.job.Cluster;
import java.nio.file.Path;
import java.util.Optional;

/** {@code jrun doctor}: this machine, and the hosts that are named. */
final class DoctorCommand {
    private DoctorCommand() {}

    /** Prints what is found; returns the exit code. */
    static int run(DoctorRequest request, Path home, Terminal terminal) throws InterruptedException {
        Optional<HostsCheck> hosts = request.cluster().map(DoctorCommand::check);
        Doctor doctor = Doctor.examine(home, Version.TEXT, hosts);
        terminal.print(request.json() ? doctor.json() : String.join("\n", doctor.lines()));
        return doctor.exitCode();
    }

    private static HostsCheck check(Cluster cluster) {
        if (!(cluster.reach() instanceof Cluster.Standing(int port, Path secretFile))) {
            throw new UsageException("jrun doctor asks standing agents; see 'jrun agent --help'.");
        }
        return new HostsCheck(cluster.names(), port, SocketTransport.to(SecretFile.read(secretFile)), Version.TEXT);
    }
}
