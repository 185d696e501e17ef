package io.jrun.agent.worker;

import io.jrun.agent.node.NodeResources;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.WorkerSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Examples: ranks 2 and 3 on the node "node7" with 8 cores and 2 of its GPUs. */
final class Launches {
    private Launches() {}

    static LaunchRound.Builder two() {
        return LaunchRound.newBuilder()
                .addWorkers(WorkerSpec.newBuilder().setRank(2).setLocalRank(0).setGpu("4"))
                .addWorkers(WorkerSpec.newBuilder().setRank(3).setLocalRank(1).setGpu("5"));
    }

    static LaunchContext context(Map<String, String> inherited) {
        return context(inherited, 8);
    }

    static LaunchContext context(Map<String, String> inherited, int cores) {
        return new LaunchContext(
                new NodeResources("node7", "127.0.0.1", cores, 1L << 34, List.of("4", "5")),
                new AgentOptions("1", List.of(Path.of("/jrun/comm.jar"), Path.of("/jrun/train.jar")), Optional.empty()),
                "run",
                Path.of("/logs/run"),
                Path.of("/tmp/jrun-1/agent.sock"),
                inherited);
    }
}
