package io.jrun.launcher.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.Cluster.Host;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Environments and answers as Slurm 22.05 gives them. */
class AllocationTest {
    private static final JobQuery UNASKED = job -> {
        throw new AssertionError("scontrol was asked about job " + job);
    };

    private static final Map<String, String> BATCH = Map.of(
            "SLURM_JOB_ID", "12",
            "SLURM_JOB_NODELIST", "n[1-2]",
            "SLURM_JOB_CPUS_PER_NODE", "16(x2)",
            "SLURMD_NODENAME", "n1");

    @Test
    void outsideThereIsNone() {
        assertThat(Allocation.of(Map.of("SLURM_CONF", "/etc/slurm.conf"), UNASKED))
                .isEmpty();
    }

    @Test
    void gpusOfEachNodeAreTheWorkers() {
        Allocation allocation = read("SLURM_GPUS_PER_NODE", "h100:8", "SLURM_GPUS_ON_NODE", "8");
        assertThat(allocation.hosts()).extracting(Host::name).containsExactly("n1", "n2");
        assertThat(workers(allocation)).containsExactly(8, 8);
        assertThat(allocation.countedBy()).isEqualTo("one for each GPU of the allocation");
        assertThat(allocation.reach("by me", "/opt/jrun").words())
                .isEqualTo("Slurm job 12, 2 nodes; workers on each: by me");
    }

    @Test
    void tasksComeBeforeGpusAndTheseBeforeCpus() {
        assertThat(workers(read("SLURM_NTASKS_PER_NODE", "2", "SLURM_GPUS_PER_NODE", "8")))
                .containsExactly(2, 2);
        assertThat(workers(read("SLURM_NTASKS_PER_NODE", "1", "SLURM_GPUS_PER_NODE", "8")))
                .containsExactly(8, 8);
        assertThat(workers(read("SLURM_CPUS_PER_TASK", "4", "SLURM_GPUS_PER_NODE", "2")))
                .containsExactly(2, 2);
        assertThat(workers(read("SLURM_CPUS_PER_TASK", "4"))).containsExactly(4, 4);
        assertThat(workers(read("SLURM_CPUS_PER_TASK", "32"))).containsExactly(1, 1);
        assertThat(workers(read())).containsExactly(1, 1);
    }

    @Test
    void nodesMayDiffer() {
        assertThat(workers(read(
                        "SLURM_JOB_NODELIST",
                        "a3,b[1-2]",
                        "SLURM_JOB_CPUS_PER_NODE",
                        "8,4(x2)",
                        "SLURM_CPUS_PER_TASK",
                        "2")))
                .containsExactly(4, 2, 2);
    }

    @Test
    void missingFactsAboutGpusAreRequestedFromSlurm() {
        Map<String, String> total = with(BATCH, "SLURM_GPUS", "6", "SLURM_GPUS_ON_NODE", "4");
        String answer = "JobId=12 JOB_GRES=gpu:h100:6 Nodes=n1 CPU_IDs=0 Mem=0 GRES=gpu:h100:4(IDX:4-7)"
                + " Nodes=n2 CPU_IDs=0 Mem=0 GRES=gpu:h100:1(IDX:0),gpu:a100:1(IDX:1) TresPerJob=gres:gpu:6";
        assertThat(workers(
                        Allocation.of(total, job -> List.of(answer.split(" "))).orElseThrow()))
                .containsExactly(4, 2);
        Map<String, String> salloc = new HashMap<>(BATCH);
        salloc.remove("SLURMD_NODENAME");
        assertThat(workers(Allocation.of(salloc, job -> List.of("Nodes=n[1-2]", "GRES=gpu:4"))
                        .orElseThrow()))
                .containsExactly(4, 4);
        assertThat(workers(Allocation.of(salloc, job -> List.of()).orElseThrow()))
                .containsExactly(1, 1);
    }

    @Test
    void stepMayHaveAPartOfTheJobsNodes() {
        Allocation step = read(
                "SLURM_STEP_ID", "0", "SLURM_STEP_NODELIST", "n2", "SLURMD_NODENAME", "n2", "SLURM_GPUS_ON_NODE", "3");
        assertThat(step.hosts()).extracting(Host::name).containsExactly("n2");
        assertThat(workers(step)).containsExactly(3);
    }

    @Test
    void interactiveShellHasTheWholeJob() {
        Allocation shell = read("SLURM_STEP_ID", "4294967290", "SLURM_STEP_NODELIST", "n1", "SLURM_GPUS_PER_NODE", "2");
        assertThat(workers(shell)).containsExactly(2, 2);
    }

    @Test
    void componentsOfAHeterogeneousJobAreReadEach() {
        Map<String, String> environment = with(
                BATCH,
                "SLURM_HET_SIZE",
                "2",
                "SLURM_JOB_NODELIST_HET_GROUP_0",
                "n1",
                "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0",
                "8",
                "SLURM_CPUS_PER_TASK_HET_GROUP_0",
                "2",
                "SLURM_JOB_ID_HET_GROUP_0",
                "12",
                "SLURM_JOB_NODELIST_HET_GROUP_1",
                "g[1-2]",
                "SLURM_GPUS_PER_NODE_HET_GROUP_1",
                "4");
        Allocation allocation = Allocation.of(environment, job -> List.of()).orElseThrow();
        assertThat(workers(allocation)).containsExactly(4, 4, 4);
        assertThat(allocation.nodes()).extracting(AllocatedNode::hetGroup).containsExactly(0, 1, 1);
        assertThat(allocation.countedBy())
                .isEqualTo("its CPUs divided by --cpus-per-task; one for each GPU of the allocation");
    }

    @Test
    void jobThatWasStartedAgainSaysSo() {
        assertThat(read("SLURM_RESTART_COUNT", "2").reach("by me", "/opt/jrun").words())
                .isEqualTo("Slurm job 12, started again for the 2. time, 2 nodes; workers on each: by me");
    }

    @Test
    void listThatCannotBeReadIsNamed() {
        assertThatThrownBy(() -> read("SLURM_JOB_NODELIST", "n[1-"))
                .isInstanceOf(AllocationException.class)
                .hasMessageStartingWith("Slurm's SLURM_JOB_NODELIST=n[1- cannot be read: ")
                .hasMessageEndingWith("; name the hosts with --hosts, or run on this one with --launch=local.");
    }

    @Test
    void onceForEachTaskIsExplainedByTheFirst() {
        Map<String, String> step =
                with(BATCH, "SLURM_STEP_ID", "3", "SLURM_STEP_NODELIST", "n[1-2]", "SLURM_STEP_NUM_TASKS", "8");
        assertThat(SrunPerTaskCheck.explain(with(step, "SLURM_PROCID", "0")))
                .hasValueSatisfying(words -> assertThat(words)
                        .startsWith("srun has started jrun 8 times, once for each task, and jrun starts all workers"));
        assertThat(SrunPerTaskCheck.explain(with(step, "SLURM_PROCID", "5"))).contains("");
        assertThat(SrunPerTaskCheck.explain(with(step, "SLURM_STEP_NUM_TASKS", "1")))
                .isEmpty();
        assertThat(SrunPerTaskCheck.explain(BATCH)).isEmpty();
    }

    @Test
    void eachNodeMayHaveOneJrunOfARendezvous() {
        Map<String, String> step = with(
                BATCH,
                "SLURM_STEP_ID",
                "3",
                "SLURM_STEP_NODELIST",
                "n[1-2]",
                "SLURM_STEP_NUM_NODES",
                "2",
                "SLURM_STEP_NUM_TASKS",
                "2");
        assertThat(SrunPerTaskCheck.explainRendezvous(step)).isEmpty();
        assertThat(SrunPerTaskCheck.explainRendezvous(BATCH)).isEmpty();
        Map<String, String> crowded = with(step, "SLURM_STEP_NUM_TASKS", "8");
        assertThat(SrunPerTaskCheck.explainRendezvous(with(crowded, "SLURM_PROCID", "0")))
                .hasValueSatisfying(words ->
                        assertThat(words).startsWith("srun has started jrun 8 times on 2 nodes, and jrun starts"));
        assertThat(SrunPerTaskCheck.explainRendezvous(with(crowded, "SLURM_PROCID", "7")))
                .contains("");
    }

    private static Allocation read(String... more) {
        return Allocation.of(with(BATCH, more), UNASKED).orElseThrow();
    }

    private static List<Integer> workers(Allocation allocation) {
        return allocation.hosts().stream()
                .map(host -> host.slots().orElseThrow())
                .toList();
    }

    static Map<String, String> with(Map<String, String> environment, String... more) {
        Map<String, String> all = new HashMap<>(environment);
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }
}
