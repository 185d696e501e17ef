package io.jrun.launcher.slurm;

import io.jrun.launcher.hostlist.HostList;
import io.jrun.launcher.hostlist.HostSyntaxException;
import io.jrun.launcher.job.Cluster.Host;
import java.util.List;

/** Reads Slurm's lists of nodes, such as {@code n[1-2]}. Stateless. */
final class NodeNames {
    private NodeNames() {}

    /**
     * Returns the names in order.
     *
     * @param variable the name of the variable with the list, for the error
     * @throws AllocationException if the list is unreadable
     */
    static List<String> of(String variable, String list) {
        try {
            return HostList.parse(list).stream().map(Host::name).toList();
        } catch (HostSyntaxException e) {
            throw new AllocationException("Slurm's " + variable + "=" + list + " cannot be read: " + e.getMessage()
                    + "; name the hosts with --hosts, or run on this one with --launch=local.");
        }
    }
}
