package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.LogChunk;
import io.jrun.launcher.console.LogMultiplexer;
import io.jrun.launcher.console.LogMultiplexer.Source;
import io.jrun.launcher.job.ConsoleSettings;
import io.jrun.launcher.layout.Placement;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Brings the workers' output from the agents to the console, and knows what is still to come from which node. Thread-safe. */
final class WorkerOutput {
    private final LogMultiplexer console;
    private final ConsoleSettings settings;
    private final Map<Integer, Set<Source>> expected = new ConcurrentHashMap<>();

    WorkerOutput(LogMultiplexer console, ConsoleSettings settings) {
        this.console = console;
        this.settings = settings;
    }

    /** Reads what comes from the node with this id, to its end. */
    void follow(int id, AgentConnection link, JobClaim job, String host) {
        link.readLogs(job, chunk -> show(chunk, host), () -> console.forget(sources(id)));
    }

    private Set<Source> sources(int id) {
        return expected.computeIfAbsent(id, _ -> ConcurrentHashMap.newKeySet());
    }

    private void show(LogChunk chunk, String host) {
        Source source = new Source(chunk.getRound(), chunk.getRank(), chunk.getStderr());
        console.show(source, host, chunk.getData().toByteArray(), chunk.getLast());
    }

    /** A worker starts on the node with this id. */
    void expect(int id, int round, Placement place) {
        if (settings.showsStdout(place.rank(), place.localRank())) {
            expect(id, new Source(round, place.rank(), false));
        }
        if (settings.showsStderr(place.rank(), place.localRank())) {
            expect(id, new Source(round, place.rank(), true));
        }
    }

    private void expect(int id, Source source) {
        sources(id).add(source);
        console.expect(source);
    }
}
