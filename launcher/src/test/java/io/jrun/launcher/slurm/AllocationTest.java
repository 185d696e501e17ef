package io.jrun.launcher.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.Cluster.Host;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

    /** Environments that Slurm 22.05 gave to batch scripts and to salloc, and the tasks that srun started there. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # options of sbatch                    | nodes  | variables                                                                                   | workers
        -n5                                    | n1     | NTASKS=5 NPROCS=5 TASKS_PER_NODE=5                                                          | 5
        -N1 -n4                                | n1     | NTASKS=4 TASKS_PER_NODE=4                                                                   | 4
        -N2 -n5                                | n[1-2] | NTASKS=5 TASKS_PER_NODE=4,1                                                                 | 4 1
        -N2 -n5 of 3 and 2 CPUs                | n[1-2] | NTASKS=5 TASKS_PER_NODE=3,2 JOB_CPUS_PER_NODE=3,2                                           | 3 2
        -N2 -n8 -c6                            | n[1-2] | NTASKS=8 TASKS_PER_NODE=4(x2) CPUS_PER_TASK=6 JOB_CPUS_PER_NODE=32(x2)                      | 4 4
        -N2 -n4 --gpus-per-node=4              | n[1-2] | NTASKS=4 TASKS_PER_NODE=2(x2) GPUS_PER_NODE=4                                               | 2 2
        -N2 -n3 --gpus-per-node=4              | n[1-2] | NTASKS=3 TASKS_PER_NODE=2,1 GPUS_PER_NODE=4                                                 | 2 1
        -N2 --ntasks-per-node=1 -c4 exclusive  | n[1-2] | NTASKS=2 NTASKS_PER_NODE=1 TASKS_PER_NODE=1(x2) CPUS_PER_TASK=4 JOB_CPUS_PER_NODE=16(x2)    | 1 1
        -N2 --ntasks-per-node=1 and GPUs       | n[1-2] | NTASKS=2 NTASKS_PER_NODE=1 TASKS_PER_NODE=1(x2) GPUS_PER_NODE=8                             | 8 8
        -n4 --ntasks-per-node=3 by salloc      | n[1-2] | NTASKS=6 NTASKS_PER_NODE=3 TASKS_PER_NODE=3(x2)                                             | 3 3
        -n5 --ntasks-per-node=3                | n[1-2] | NTASKS=5 NTASKS_PER_NODE=3 TASKS_PER_NODE=3(x2)                                             | 3 2
        -N2 exclusive                          | n[1-2] | TASKS_PER_NODE=8(x2) JOB_CPUS_PER_NODE=8(x2)                                                | 1 1
        -N2 exclusive -c4                      | n[1-2] | TASKS_PER_NODE=2(x2) JOB_CPUS_PER_NODE=8(x2) CPUS_PER_TASK=4                                | 2 2
        NPROCS alone                           | n1     | NPROCS=3 TASKS_PER_NODE=3                                                                   | 3
        no TASKS_PER_NODE                      | n[1-2] | NTASKS=5                                                                                    | 3 2
        no TASKS_PER_NODE with a limit         | n[1-2] | NTASKS=5 NTASKS_PER_NODE=3                                                                  | 3 2
        -N2 in a job of -n3                    | n[1-2] | NTASKS=3 TASKS_PER_NODE=1(x2)                                                               | 1 1
        -N2 in a job of --ntasks-per-node=2    | n[1-2] | NTASKS_PER_NODE=2 TASKS_PER_NODE=1(x2)                                                      | 1 1
        -N2 in a job of 2 times 2 tasks        | n[1-2] | NTASKS=4 NTASKS_PER_NODE=2 TASKS_PER_NODE=1(x2)                                             | 1 1
        -N2 --gpus-per-node=4 in a job of -n16 | n[1-2] | NTASKS=16 TASKS_PER_NODE=1(x2) GPUS_PER_NODE=4                                              | 4 4
        """)
    void tasksAreCountedAsSrunCountsThem(String options, String nodes, String variables, String workers) {
        Allocation allocation = read(variables("SLURM_JOB_NODELIST=" + nodes + " SLURM_JOB_CPUS_PER_NODE=1 "
                + variables.replaceAll("(?<=^| )", "SLURM_")));
        assertThat(workers(allocation).stream().map(String::valueOf))
                .as(options)
                .containsExactly(workers.split(" "));
    }

    @Test
    void reasonIsTrue() {
        assertThat(read("SLURM_NTASKS", "2", "SLURM_TASKS_PER_NODE", "1(x2)", "SLURM_CPUS_PER_TASK", "4")
                        .countedBy())
                .isEqualTo("one for each task that the job requested from Slurm");
        assertThat(read("SLURM_NTASKS", "3", "SLURM_TASKS_PER_NODE", "1(x2)").countedBy())
                .isEqualTo("one, because the job requested neither tasks, GPUs nor CPUs per task");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        TASKS_PER_NODE=x                      | SLURM_TASKS_PER_NODE=x cannot be read
        TASKS_PER_NODE=2(x3)                  | SLURM_TASKS_PER_NODE=2(x3) is for 3 nodes, not 2
        TASKS_PER_NODE=2                      | SLURM_TASKS_PER_NODE=2 is for 1 node, not 2
        NTASKS=many                           | SLURM_NTASKS=many cannot be read
        NTASKS_PER_NODE=-1                    | SLURM_NTASKS_PER_NODE=-1 cannot be read
        GPUS_PER_NODE=h100:all                | SLURM_GPUS_PER_NODE=h100:all cannot be read
        CPUS_PER_TASK=4x                      | SLURM_CPUS_PER_TASK=4x cannot be read
        CPUS_PER_TASK=4 JOB_CPUS_PER_NODE=x   | SLURM_JOB_CPUS_PER_NODE=x cannot be read
        TASKS_PER_NODE=x NTASKS=y             | SLURM_TASKS_PER_NODE=x cannot be read, SLURM_NTASKS=y cannot be read
        """)
    void variableThatCannotBeUsedIsTheReason(String variables, String why) {
        Allocation allocation = read(variables(variables.replaceAll("(?<=^| )", "SLURM_")));
        assertThat(workers(allocation)).containsExactly(1, 1);
        assertThat(allocation.countedBy())
                .isEqualTo("one, because " + why + ", and no other variable names tasks, GPUs or CPUs per task");
    }

    @Test
    void variablesThatCanBeUsedComeBeforeThoseThatCannot() {
        Allocation allocation = read("SLURM_TASKS_PER_NODE", "x", "SLURM_NTASKS", "4");
        assertThat(workers(allocation)).containsExactly(2, 2);
        assertThat(allocation.countedBy()).isEqualTo("one for each task that the job requested from Slurm");
        Allocation step = read(variables("SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n2 SLURM_STEP_TASKS_PER_NODE=1(x2)"
                + " SLURMD_NODENAME=n2 SLURM_GPUS_ON_NODE=0"));
        assertThat(step.countedBy()).startsWith("one, because SLURM_STEP_TASKS_PER_NODE=1(x2) is for 2 nodes, not 1,");
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
    void tasksOfEachComponentAreItsOwn() {
        String components = "SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=12 SLURM_JOB_NODELIST_HET_GROUP_0=n1"
                + " SLURM_JOB_NODELIST_HET_GROUP_1=n[2-3] SLURM_NTASKS=2 SLURM_NTASKS_PER_NODE=7"
                + " SLURM_NTASKS_HET_GROUP_0=2 SLURM_TASKS_PER_NODE_HET_GROUP_0=2";
        assertThat(workers(Allocation.of(
                                with(
                                        BATCH,
                                        variables(components + " SLURM_NTASKS_HET_GROUP_1=5"
                                                + " SLURM_TASKS_PER_NODE_HET_GROUP_1=3,2")),
                                job -> List.of())
                        .orElseThrow()))
                .containsExactly(2, 3, 2);
        assertThat(workers(Allocation.of(
                                with(BATCH, variables(components + " SLURM_NTASKS_PER_NODE_HET_GROUP_1=3")),
                                job -> List.of())
                        .orElseThrow()))
                .containsExactly(2, 3, 3);
        assertThat(read(variables(components.replace("GROUP_0=12", "GROUP_0=9")))
                        .hosts())
                .extracting(Host::name)
                .containsExactly("n1", "n2");
    }

    /** Variables that Slurm 22.05 gave to the processes of a step, and to jobs that were submitted in a step. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # where jrun runs                      | variables besides those of the step                                                      | nodes
        step of one node in a job of two       | JOB_NODELIST=n[1-2] NNODES=1 TASKS_PER_NODE=1 GTIDS=0 NODEID=0 NTASKS_PER_NODE=2         | n1
        sbatch -N2 in the step                 | JOB_NODELIST=n[1-2] NNODES=2 TASKS_PER_NODE=1(x2) GTIDS=0 NODEID=0 NTASKS=1              | n1 n2
        salloc on another node in the step     | JOB_NODELIST=n3 NNODES=1 TASKS_PER_NODE=1 GTIDS=0 NODEID=0 NTASKS=1                      | n3
        sbatch -n3 in the step                 | JOB_NODELIST=n1 NNODES=1 TASKS_PER_NODE=3 GTIDS=0 NODEID=0 NTASKS=3                      | n1 x3
        """)
    void stepOfAnOuterJobIsNotTheJobs(String where, String variables, String nodes) {
        String[] step = variables("SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n1 SLURM_STEP_NUM_NODES=1"
                + " SLURM_STEP_NUM_TASKS=1 SLURM_STEP_TASKS_PER_NODE=1 " + variables.replaceAll("(?<=^| )", "SLURM_"));
        Allocation allocation = read(step);
        List<String> expected = List.of(nodes.replaceFirst(" x.*", "").split(" "));
        assertThat(allocation.hosts()).as(where).extracting(Host::name).isEqualTo(expected);
        assertThat(workers(allocation)).as(where).containsOnly(nodes.contains("x3") ? 3 : 1);
    }

    @Test
    void batchScriptOfAStepsJobIsNotOneOfTheStepsTasks() {
        String[] batch = variables("SLURM_JOB_NODELIST=n1 SLURM_NNODES=1 SLURM_TASKS_PER_NODE=2 SLURM_GTIDS=0"
                + " SLURM_NODEID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n1 SLURM_STEP_NUM_NODES=1"
                + " SLURM_STEP_NUM_TASKS=2 SLURM_STEP_TASKS_PER_NODE=2");
        assertThat(SrunPerTaskCheck.explain(with(BATCH, batch))).isEmpty();
        assertThat(workers(read(batch))).containsExactly(2);
        assertThat(SrunPerTaskCheck.explain(with(with(BATCH, batch), "SLURM_GTIDS", "0,1")))
                .isPresent();
    }

    @Test
    void newJobGetsNoVariablesOfTheOuterOne() {
        assertThat(List.of(
                        "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURMD_NODENAME", "SRUN_CPUS_PER_TASK", "JRUN_AGENT_SOCKET"))
                .allMatch(OuterJob::describes);
        assertThat(List.of("SLURM_CONF", "SBATCH_ACCOUNT", "PATH", "MY_SLURM_JOB", "JRUN_NPROC_PER_NODE"))
                .noneMatch(OuterJob::describes);
    }

    @Test
    void jobThatWasStartedAgainSaysSo() {
        assertThat(read("SLURM_RESTART_COUNT", "2").reach("by me", "/opt/jrun").words())
                .isEqualTo("Slurm job 12, restart 2, 2 nodes; workers on each: by me");
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

    /** Names and values of {@code NAME=VALUE NAME=VALUE}, one after the other. */
    private static String[] variables(String text) {
        return Arrays.stream(text.split(" "))
                .flatMap(word -> Arrays.stream(word.split("=", 2)))
                .toArray(String[]::new);
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
