package io.jrun.agent.job;

import io.jrun.agent.node.ProcessUsage;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.WorkerLoad;
import io.jrun.agent.proto.WorkerLoads;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Reports the CPU time and the memory of this node's workers to the coordinator, 2 s after the start of a round and then
 * every 5 s. Confined to the job's thread.
 */
final class LoadMonitor {
    private static final long FIRST_MILLIS = 2000;
    private static final long PERIOD_MILLIS = 5000;
    private static final double PERCENT = 100;

    /** A process and its CPU time at the last look. */
    private record Look(long pid, ProcessUsage usage, long nanos) {}

    private final JobEventLoop mailbox;
    private final ResponseStream<ControlResponse> out;
    private final Map<Integer, Look> looks = new TreeMap<>();
    private boolean ticking;

    LoadMonitor(JobEventLoop mailbox, ResponseStream<ControlResponse> out) {
        this.mailbox = mailbox;
        this.out = out;
    }

    /** A worker has a process. */
    void started(int rank, long pid) {
        ProcessUsage.of(pid).ifPresent(usage -> looks.put(rank, new Look(pid, usage, System.nanoTime())));
        if (!ticking) {
            ticking = true;
            var _ = mailbox.postIn(FIRST_MILLIS, this::tick);
        }
    }

    /** The process of a worker has ended. */
    void ended(int rank) {
        looks.remove(rank);
    }

    private void tick() {
        ticking = !looks.isEmpty();
        if (!ticking) {
            return;
        }
        WorkerLoads.Builder report = WorkerLoads.newBuilder();
        looks.replaceAll((rank, look) -> {
            Optional<ProcessUsage> usage = ProcessUsage.of(look.pid());
            long now = System.nanoTime();
            usage.ifPresent(current -> report.addLoads(WorkerLoad.newBuilder()
                    .setRank(rank)
                    .setResidentBytes(current.residentBytes())
                    .setCpuPercent((float) (PERCENT
                            * (current.cpuNanos() - look.usage().cpuNanos())
                            / Math.max(1, now - look.nanos())))));
            return usage.map(current -> new Look(look.pid(), current, now)).orElse(look);
        });
        out.send(ControlResponse.newBuilder().setWorkerLoads(report).build());
        var _ = mailbox.postIn(PERIOD_MILLIS, this::tick);
    }
}
