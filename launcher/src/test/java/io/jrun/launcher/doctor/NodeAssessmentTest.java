package io.jrun.launcher.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.HostInspection;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.GpuFacts;
import io.jrun.agent.proto.GpuLink;
import io.jrun.agent.proto.ResourceLimit;
import io.jrun.launcher.doctor.CheckResult.CheckState;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The assessment of the facts that a machine reports. */
class NodeAssessmentTest {
    private static CheckResult the(String what, Examination facts) {
        return NodeAssessment.of(facts).stream()
                .filter(finding -> finding.what().equals(what))
                .findFirst()
                .orElseThrow();
    }

    private static Examination.Builder limited(String name, String soft, String hard) {
        return Examination.newBuilder()
                .setCores(16)
                .addLimits(
                        ResourceLimit.newBuilder().setName(name).setSoft(soft).setHard(hard));
    }

    @ParameterizedTest
    @CsvSource({
        "Max open files,    open files,    16,        524288,    PROBLEM, ulimit -n 65536",
        "Max open files,    open files,    1024,      1024,      OK,      at most 1024 in a process",
        "Max open files,    open files,    unlimited, unlimited, OK,      at most unlimited",
        "Max processes,     threads,       1151,      1151,      PROBLEM, jobs need up to 1152; its hard limit is 1151",
        "Max processes,     threads,       1152,      1152,      OK,      of this user",
        "Max address space, address space, 4294967296, unlimited, PROBLEM, ulimit -v unlimited",
        "Max address space, address space, unlimited, unlimited, OK,      unlimited",
        "Max core file size, core files,   0,         unlimited, ABSENT,  hs_err_pid",
        "Max core file size, core files,   unlimited, unlimited, OK,      unlimited",
        "Max locked memory, locked memory, 8388608,   8388608,   OK,      at most 8192 KiB",
    })
    void aLimitThatJobsWouldHitSaysHowToRaiseIt(
            String name, String what, String soft, String hard, CheckState state, String text) {
        CheckResult found = the(what, limited(name, soft, hard).build());
        assertThat(found.state()).as(found.text()).isEqualTo(state);
        assertThat(found.text()).contains(text);
        assertThat(found.values()).containsEntry("soft", soft).containsEntry("hard", hard);
    }

    @Test
    void lockedMemoryIsScarceOnlyWhereHardwareReadsIt() {
        CheckResult found = the(
                "locked memory",
                limited("Max locked memory", "8388608", "unlimited")
                        .addRdmaDevices("mlx5_0")
                        .build());
        assertThat(found.state()).isEqualTo(CheckState.PROBLEM);
        assertThat(found.text()).contains("at most 8192 KiB", "mlx5_0", "ulimit -l unlimited");
    }

    @Test
    void gpusAreAbsentOrCountedWithTheirDriver() {
        assertThat(the("gpus", Examination.getDefaultInstance()).state()).isEqualTo(CheckState.ABSENT);
        assertThat(the("gpus", Examination.newBuilder().setGpuDriver("570.1").build())
                        .text())
                .contains("driver 570.1 is installed", "nvidia-smi");
        assertThat(the(
                                "gpus",
                                Examination.newBuilder()
                                        .addAllGpus(List.of("0", "1"))
                                        .setGpuDriver("570.1")
                                        .build())
                        .text())
                .isEqualTo("2 visible: 0, 1; driver 570.1");
    }

    @Test
    void eachGpuItsLinksAndTheNetworkVariablesAreShown() {
        GpuFacts.Builder gpu = GpuFacts.newBuilder()
                .setName("NVIDIA H100")
                .setBusId("0000:1b:00.0")
                .setMemoryBytes(80L << 30)
                .setNumaNode(1)
                .setUuid("GPU-1");
        Examination facts = Examination.newBuilder()
                .addGpuFacts(gpu.setPersistence("on").setMig("off"))
                .addGpuFacts(
                        gpu.setNumaNode(-1).setPersistence("off").setMig("on").addAllSlices(List.of("MIG-1", "MIG-2")))
                .addGpuLinks(GpuLink.newBuilder().setSecond(1).setPath("NVLink"))
                .addNetworkVariables("NCCL_DEBUG=INFO")
                .build();
        assertThat(the("gpu 0", facts).text())
                .isEqualTo("NVIDIA H100, 80.0 GiB, PCI 0000:1b:00.0, NUMA node 1, GPU-1, persistence mode on");
        assertThat(the("gpu 1", facts).text())
                .contains("NUMA node unknown", "persistence mode off (", "MIG on: MIG-1, MIG-2");
        assertThat(the("gpu 1", facts).values()).containsEntry("slices", List.of("MIG-1", "MIG-2"));
        assertThat(the("gpu links", facts).text()).isEqualTo("NVLink between the two GPUs");
        assertThat(the("network", facts).text()).isEqualTo("NCCL_DEBUG=INFO");
    }

    @Test
    void anUnusableListOfGpusIsAProblemAndAMissingNvmlIsNot() {
        Examination facts = Examination.newBuilder()
                .setGpuProblem("CUDA_VISIBLE_DEVICES=0,0: '0' comes twice")
                .setGpuDriver("580.1")
                .setNvmlProblem("libnvidia-ml.so.1 cannot be opened")
                .build();
        assertThat(the("gpus", facts).state()).isEqualTo(CheckState.PROBLEM);
        assertThat(the("gpus", facts).text()).isEqualTo("CUDA_VISIBLE_DEVICES=0,0: '0' comes twice; driver 580.1");
        assertThat(the("nvml", facts).state()).isEqualTo(CheckState.ABSENT);
    }

    @Test
    void sharedMemoryThatCannotBeWrittenIsAProblem() {
        assertThat(the("/dev/shm", Examination.newBuilder().setShmFreeBytes(-1).build())
                        .state())
                .isEqualTo(CheckState.PROBLEM);
    }

    @Test
    void thisMachineReportsAllFacts() throws InterruptedException {
        assertThat(
                        NodeAssessment.of(HostInspection.here(
                                        "1.0", List.of("localhost", "nowhere.invalid"), "127.0.0.1"))
                                .stream()
                                .map(CheckResult::what))
                .containsExactly(
                        "tools",
                        "names",
                        "cores",
                        "gpus",
                        "/dev/shm",
                        "open files",
                        "threads",
                        "locked memory",
                        "address space",
                        "core files");
        Examination here = HostInspection.here("1.0", List.of("localhost", "nowhere.invalid"), "127.0.0.1");
        assertThat(here.getUnknownNamesList()).containsExactly("nowhere.invalid");
        assertThat(here.getInterface()).startsWith("lo, MTU ");
        assertThat(here.getPortRange()).matches("\\d+-\\d+");
    }
}
