package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.LogChunk;
import io.jrun.launcher.console.LogMultiplexer;
import io.jrun.launcher.console.LogMultiplexer.LogSource;
import io.jrun.launcher.console.WorkerPlace;
import io.jrun.launcher.job.ConsoleSettings;
import io.jrun.launcher.layout.Placement;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Passes the workers' output from the agents to the console, and keeps the streams that each node still has to end.
 * Thread-safe.
 */
final class WorkerOutput {
    private final LogMultiplexer console;
    private final ConsoleSettings settings;
    private final Map<Integer, Set<LogSource>> expected = new ConcurrentHashMap<>();

    WorkerOutput(LogMultiplexer console, ConsoleSettings settings) {
        this.console = console;
        this.settings = settings;
    }

    /** Reads the output of the node with this id, to its end. */
    void follow(int id, AgentConnection link, JobClaim job, String host) {
        link.readLogs(job, chunk -> print(chunk, host), () -> console.forget(sources(id)));
    }

    private Set<LogSource> sources(int id) {
        return expected.computeIfAbsent(id, _ -> ConcurrentHashMap.newKeySet());
    }

    private void print(LogChunk chunk, String host) {
        LogSource source = new LogSource(chunk.getRound(), chunk.getRank(), chunk.getStderr());
        console.print(
                source,
                new WorkerPlace(host, chunk.getLocalRank()),
                chunk.getData().toByteArray(),
                chunk.getLast());
    }

    /** A worker starts on the node with this id. */
    void expect(int id, int round, Placement place) {
        if (settings.printsStdout(place.rank(), place.localRank())) {
            expect(id, new LogSource(round, place.rank(), false));
        }
        if (settings.printsStderr(place.rank(), place.localRank())) {
            expect(id, new LogSource(round, place.rank(), true));
        }
    }

    private void expect(int id, LogSource source) {
        sources(id).add(source);
        console.expect(source);
    }
}
