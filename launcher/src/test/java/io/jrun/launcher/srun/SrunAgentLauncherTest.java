package io.jrun.launcher.srun;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.LauncherAddress;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.registration.AgentLauncher.LaunchCommand;
import io.jrun.launcher.registration.AgentLauncher.LaunchExit;
import io.jrun.launcher.registration.JoinToken;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SrunAgentLauncherTest {
    private static final JoinToken INVITATION = new JoinToken(List.of(new LauncherAddress("10.0.0.1", 4321)), "5ec7e7");

    @Test
    void oneTaskOnEachNodeFindsItsNumberByItsName() {
        List<LaunchCommand> starts = plan(Map.of(), Map.of(), "n1", "n3");
        assertThat(starts).hasSize(1);
        assertThat(starts.getFirst().nodes()).containsExactly(0, 1);
        assertThat(starts.getFirst().command())
                .startsWith("setsid", "env", "-u")
                .contains("--overlap", "--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=0")
                .contains("--nodes=2", "--ntasks=2", "--nodelist=n1,n3")
                .noneMatch(word -> word.startsWith("--gpus") || word.startsWith("--het") || word.contains("5ec7e7"))
                .endsWith(
                        "/bin/bash",
                        "-p",
                        "-c",
                        "case $SLURMD_NODENAME in n1) node=0;; n3) node=1;; esac; exec \"$0\" \"agent\""
                                + " \"--launcher=10.0.0.1:4321\" \"--node=$node\"",
                        "/opt/jrun");
    }

    @Test
    void componentsOfAHeterogeneousJobAreStartedEach() {
        List<LaunchCommand> starts = plan(Map.of("n1", 0, "g1", 1, "g2", 1), Map.of(), "n1", "g1", "g2");
        assertThat(starts).extracting(LaunchCommand::nodes).containsExactly(List.of(0), List.of(1, 2));
        assertThat(starts.get(1).command()).contains("--het-group=1", "--nodes=2", "--nodelist=g1,g2");
    }

    @Test
    void gpusRequestedForTasksAreAllGivenToTheAgent() {
        assertThat(plan(Map.of(), Map.of("n1", 4, "n2", 4), "n1", "n2")
                        .getFirst()
                        .command())
                .contains("--gpus-per-node=4");
    }

    @Test
    void memoryOfTwoJobsIsNotGivenToSrun() {
        Map<String, String> own = Map.of("SLURM_MEM_PER_NODE", "400");
        Map<String, String> both = Map.of("SLURM_MEM_PER_NODE", "400", "SLURM_MEM_PER_CPU", "100");
        assertThat(command(own)).doesNotContain("SLURM_MEM_PER_NODE"); // the agent needs its job's memory
        assertThat(command(both)).containsSubsequence("-u", "SLURM_MEM_PER_NODE", "-u", "SLURM_MEM_PER_CPU", "srun");
    }

    @Test
    void agentsGetNoOptionsThatOtherProgramsAreFor() {
        assertThat(command(Map.of()))
                .containsSubsequence(
                        "env", "-u", "SLURM_HINT", "-u", "SLURM_MULTI_PROG", "-u", "SLURM_STDINMODE", "srun");
    }

    /** Lines of srun 22.05, of which jrun keeps the last. */
    @Test
    void srunThatHasNoContactIsExplainedInOneLine() {
        String advice = "); run jrun where srun works, or start without srun: --launch=ssh with --hosts, or"
                + " --launch=local for this machine alone";
        String reason = "srun has no contact with Slurm's controller or configuration from here (";
        assertThat(explained(
                        "srun: error: fetch_config: DNS SRV lookup failed",
                        "srun: error: _establish_config_source: failed to fetch config",
                        "srun: fatal: Could not establish a configuration source"))
                .isEqualTo(reason + "Could not establish a configuration source" + advice);
        assertThat(explained(
                        "srun: error: Unable to confirm allocation for job 5: Unable to contact slurm controller"
                                + " (connect failure)",
                        "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 5"))
                .isEqualTo(reason + "Unable to confirm allocation for job 5: Unable to contact slurm controller"
                        + " (connect failure)" + advice);
        assertThat(explained("srun: error: Unable to create step for job 5: Invalid node name specified"))
                .isEqualTo("its start ended with exit code 1: srun: error: Unable to create step for job 5: Invalid"
                        + " node name specified");
    }

    private static String explained(String... lines) {
        return new SrunAgentLauncher(new Cluster.Slurm("", Map.of(), Map.of(), "/opt/jrun"), Map.of())
                .explain(new LaunchCommand("srun", List.of(0, 1), List.of("srun")), new LaunchExit(1, List.of(lines)));
    }

    private static List<String> command(Map<String, String> environment) {
        return plan(environment, Map.of(), Map.of(), "n1").getFirst().command();
    }

    private static List<LaunchCommand> plan(
            Map<String, Integer> hetGroups, Map<String, Integer> taskGpus, String... hosts) {
        return plan(Map.of(), hetGroups, taskGpus, hosts);
    }

    private static List<LaunchCommand> plan(
            Map<String, String> environment,
            Map<String, Integer> hetGroups,
            Map<String, Integer> taskGpus,
            String... hosts) {
        return new SrunAgentLauncher(new Cluster.Slurm("", hetGroups, taskGpus, "/opt/jrun"), environment)
                .plan(List.of(hosts), IntStream.range(0, hosts.length).boxed().toList(), INVITATION);
    }
}
