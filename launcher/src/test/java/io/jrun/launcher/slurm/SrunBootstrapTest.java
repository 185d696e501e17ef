package io.jrun.launcher.slurm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.HomeAddress;
import io.jrun.launcher.arrival.Bootstrap.Start;
import io.jrun.launcher.arrival.Invitation;
import java.util.List;
import org.junit.jupiter.api.Test;

class SrunBootstrapTest {
    private static final Invitation INVITATION = new Invitation(List.of(new HomeAddress("10.0.0.1", 4321)), "5ec7e7");

    @Test
    void oneTaskOnEachNodeFindsItsNumberByItsName() {
        List<Start> starts = plan(false, List.of("n1", "n3"), node("n1", 0), node("n2", 0), node("n3", 0));
        assertThat(starts).hasSize(1);
        assertThat(starts.getFirst().nodes()).containsExactly(0, 1);
        assertThat(starts.getFirst().command())
                .startsWith("setsid", "env", "-u")
                .contains(
                        "--overlap", "--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=0", "--nodes=2", "--ntasks=2")
                .contains("--nodelist=n1,n3")
                .noneMatch(word -> word.startsWith("--gpus") || word.startsWith("--het") || word.contains("5ec7e7"))
                .endsWith(
                        "sh",
                        "-c",
                        "case $SLURMD_NODENAME in n1) node=0;; n3) node=1;; esac; exec \"$0\" \"agent\""
                                + " \"--home=10.0.0.1:4321\" \"--node=$node\"",
                        "/opt/jrun");
    }

    @Test
    void componentsOfAHeterogeneousJobAreStartedEach() {
        List<Start> starts = plan(false, List.of("n1", "g1", "g2"), node("n1", 0), node("g1", 1), node("g2", 1));
        assertThat(starts).extracting(Start::nodes).containsExactly(List.of(0), List.of(1, 2));
        assertThat(starts.get(1).command()).contains("--het-group=1", "--nodes=2", "--nodelist=g1,g2");
    }

    @Test
    void gpusAskedForByTaskAreAllGivenToTheAgent() {
        assertThat(plan(true, List.of("n1"), node("n1", 0)).getFirst().command())
                .contains("--gpus-per-node=4");
    }

    private static List<Start> plan(boolean gpusPerTask, List<String> hosts, AllocatedNode... nodes) {
        return new SrunBootstrap(new Allocation("1", 0, List.of(nodes), gpusPerTask).reach("", "/opt/jrun"))
                .plan(hosts, INVITATION);
    }

    private static AllocatedNode node(String name, int hetGroup) {
        return new AllocatedNode(name, hetGroup, 0, 4, 16, 0);
    }
}
