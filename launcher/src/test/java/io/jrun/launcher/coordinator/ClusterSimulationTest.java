package io.jrun.launcher.coordinator;

import org.junit.jupiter.api.Test;

/**
 * Random jobs on simulated nodes, in virtual time: agents come late, are lost, cut off and called again; workers join,
 * park, hang, succeed and fail, on one node time and again; signals and the timeout come at any moment, messages take
 * their time. {@link SimulatedCluster} checks the promises of {@link JobMachine} at each of its decisions; a failure
 * names its seed.
 */
class ClusterSimulationTest {
    @Test
    void promisesHold() {
        Seeds.forEach(seed -> new SimulatedCluster(seed).run());
    }
}
