package io.jrun.launcher.cli;

import io.jrun.launcher.job.Cluster.Host;
import io.jrun.launcher.job.MapBy;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerCount;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Collectors;

/**
 * Divides the workers of {@code -n} over the hosts. Hosts with numbers of workers (slots) are filled as mpirun fills
 * them: host after host, or one worker on each host in turn. Hosts without numbers get equal shares, and the first
 * hosts one more. A host without a worker is left out. Stateless.
 */
final class TotalWorkers {
    private TotalWorkers() {}

    /**
     * The hosts with their numbers of workers.
     *
     * @param total from 1 up
     * @param hosts not empty
     * @param name the name of the option, for errors
     * @throws UsageException if the hosts have fewer slots than {@code total}, or only some hosts have slots
     */
    static List<Host> divide(int total, List<Host> hosts, MapBy mapBy, String name) {
        int[] workers;
        if (hosts.stream().allMatch(host -> host.slots().isPresent())) {
            int[] slots =
                    hosts.stream().mapToInt(host -> host.slots().orElseThrow()).toArray();
            if (Arrays.stream(slots).asLongStream().sum() < total) {
                throw new UsageException(name + ": " + total + " workers are more than the hosts have slots ("
                        + slots(hosts) + "). Give the hosts larger numbers, or a smaller " + name + ".");
            }
            workers = mapBy == MapBy.NODE ? inTurn(total, slots) : hostAfterHost(total, slots);
        } else if (hosts.stream().allMatch(host -> host.slots().isEmpty())) {
            workers = equalShares(total, hosts.size(), name);
        } else {
            throw new UsageException(name + ": some hosts have a number of workers and some have none (" + slots(hosts)
                    + "). Give all hosts a number, or none.");
        }
        List<Host> used = new ArrayList<>();
        for (int i = 0; i < workers.length; i++) {
            if (workers[i] > 0) {
                Host host = hosts.get(i);
                used.add(new Host(host.name(), OptionalInt.of(workers[i]), host.gpus(), host.user()));
            }
        }
        return used;
    }

    private static int[] hostAfterHost(int total, int[] slots) {
        int[] workers = new int[slots.length];
        int rest = total;
        for (int i = 0; i < slots.length; i++) {
            workers[i] = Math.min(slots[i], rest);
            rest -= workers[i];
        }
        return workers;
    }

    private static int[] inTurn(int total, int[] slots) {
        int[] workers = new int[slots.length];
        int rest = total;
        while (rest > 0) {
            for (int i = 0; i < slots.length && rest > 0; i++) {
                if (workers[i] < slots[i]) {
                    workers[i]++;
                    rest--;
                }
            }
        }
        return workers;
    }

    private static int[] equalShares(int total, int hosts, String name) {
        int[] workers = new int[hosts];
        for (int i = 0; i < hosts; i++) {
            workers[i] = total / hosts + (i < total % hosts ? 1 : 0);
        }
        if (workers[0] > WorkerCount.MAX) {
            throw new UsageException(name + ": " + total + " workers are more than " + WorkerCount.MAX + " on each of "
                    + hosts + " hosts.");
        }
        return workers;
    }

    private static String slots(List<Host> hosts) {
        return hosts.stream()
                        .limit(8)
                        .map(host -> host.name()
                                + (host.slots().isPresent() ? ":" + host.slots().getAsInt() : ""))
                        .collect(Collectors.joining(", "))
                + (hosts.size() > 8 ? ", ..." : "");
    }
}
