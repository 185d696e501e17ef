package io.jrun.launcher.view;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.layout.Placement;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.record.JobRecorder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The record of a job, written as the launcher writes it. */
public final class RecordedJob implements AutoCloseable {
    private final Path logs;
    private final JobRecorder recorder;

    /**
     * A job with its first events.
     *
     * @param state the folder of state, whose index gets the job
     * @param hosts the host of each rank
     */
    public RecordedJob(Path state, String name, List<String> hosts) throws IOException {
        logs = Files.createDirectories(state.resolve("logs").resolve(name)).toRealPath();
        JobIndex.in(state).put(name, logs);
        recorder = JobRecorder.begin(logs, problem -> {
            throw new AssertionError(problem);
        });
        publish(new JobEvent.JobStarted(
                name,
                "0.1.0",
                ProcessIdentity.current(),
                false,
                1000,
                Path.of("/data"),
                List.of("jrun", "train.jar"),
                List.of("java", "Train"),
                List.of(),
                List.of(),
                List.of()));
        List<String> nodes = hosts.stream().distinct().toList();
        for (String host : nodes) {
            publish(new JobEvent.NodeJoined(nodes.indexOf(host), host, "10.0.0.1", 8, List.of()));
        }
        List<Placement> places = new ArrayList<>();
        for (int rank = 0; rank < hosts.size(); rank++) {
            places.add(new Placement(rank, nodes.indexOf(hosts.get(rank)), rank, hosts.get(rank), ""));
        }
        publish(new JobEvent.RoundStarted(1, 0, places));
        for (int rank = 0; rank < hosts.size(); rank++) {
            Files.createDirectories(folder(rank));
            publish(new JobEvent.WorkerStarted(1, rank, 1000 + rank, "attempt-0/rank-" + rank));
        }
    }

    /** The log folder of the job. */
    public Path logs() {
        return logs;
    }

    /** The log folder of a rank. */
    public Path folder(int rank) {
        return logs.resolve("attempt-0/rank-" + rank);
    }

    /** Publishes an event. */
    public void publish(JobEvent event) {
        recorder.on(System.currentTimeMillis(), event);
    }

    /** Reports metrics of a rank. */
    public void report(int rank, long step, Map<String, Double> values) {
        publish(new JobEvent.MetricReported(1, rank, step, values));
    }

    /** Writes all events. */
    @Override
    public void close() {
        recorder.close();
    }
}
