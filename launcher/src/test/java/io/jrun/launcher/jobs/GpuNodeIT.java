package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Jobs on a machine with two made-up GPUs, see {@code scripts/testbed/gpu-node}. */
class GpuNodeIT extends RealJobs {
    private static final List<String> TWO_GPUS =
            List.of(JRun.SCRIPTS.resolve("testbed/gpu-node").toString(), "2");

    private static final String BY_DEFAULT = ", one for each GPU, by default; --nproc-per-node=N sets another number";

    @BeforeEach
    void machine() {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can make devices");
        assumeTrue(Files.isDirectory(Path.of("/sys/bus/pci/devices")), "this machine has no PCI devices");
        assumeTrue(Files.isDirectory(Path.of("/proc/driver")), "this machine has no /proc/driver");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/cc")), "the library of the GPUs needs a C compiler");
    }

    private Result run(String... args) {
        return jrun.startUnder(TWO_GPUS, args).await();
    }

    /** Each worker ends once the record has the load of the GPUs. */
    @Test
    void withoutOptionsEachGpuHasAWorkerNearItAndItsLoadIsRecorded() throws IOException {
        String script = "until grep -q gpusReported $JRUN_LOG_DIR/../../metrics.jsonl; do sleep 0.1; done; echo"
                + " $LOCAL_RANK of $LOCAL_WORLD_SIZE: GPU $CUDA_VISIBLE_DEVICES, CPU $(taskset -pc $$ | sed 's/.*: //'),"
                + " $NCCL_SOCKET_IFNAME";
        Result result = jrun.with("NCCL_SOCKET_IFNAME", "eth7")
                .startUnder(
                        TWO_GPUS,
                        "--bind-to=gpu",
                        "--gpu-visibility=one",
                        "--no-prefix",
                        "--timeout=60",
                        "sh",
                        "-c",
                        script)
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        String id = jrun.runId();
        int second = Runtime.getRuntime().availableProcessors() > 1 ? 1 : 0;
        assertThat(result.sortedOut())
                .containsExactly("0 of 2: GPU 0, CPU 0, eth7", "1 of 2: GPU 1, CPU " + second + ", eth7");
        assertThat(result.err()).contains("2 workers on ").contains(BY_DEFAULT);
        assertThat(jrun.run("describe", id).out())
                .contains("network    NCCL_SOCKET_IFNAME=eth7\n")
                .containsPattern("0     90 %     1\\.0/80\\.0 GiB   40 C   351 W  NVIDIA H100 80GB HBM3\n")
                .containsPattern("1     91 %     2\\.0/80\\.0 GiB   41 C   351 W  NVIDIA H100 80GB HBM3\n");
    }

    @Test
    void theDryRunSaysTheSame() {
        Result result = run("--dry-run", "--bind-to=gpu", "--env=UCX_TLS=rc", "sh", "-c", "exit 0");
        assertThat(result.out().lines().map(line -> line.replaceAll("  +", "  ")))
                .contains("all workers get UCX_TLS=rc")
                .anyMatch(line -> line.endsWith("taskset -c 0 /usr/bin/sh -c 'exit 0'"))
                .anyMatch(line -> line.startsWith("2 workers on ") && line.endsWith(BY_DEFAULT))
                .contains("paths between the GPUs: NVLink (ranks 0-1)");
    }

    @Test
    void theDryRunSaysWhereEightGpusLie() throws IOException {
        List<String> eight = List.of(TWO_GPUS.getFirst(), "8");
        int cpus = Runtime.getRuntime().availableProcessors();
        String text = jrun.startUnder(eight, "--dry-run", "true").await().out();
        assertThat(text)
                .contains("paths between the GPUs: NODE (ranks 0-2 0-3 1-2 1-3 4-6 4-7 5-6 5-7), NVLink (ranks 0-1"
                        + " 2-3 4-5 6-7), SYS (the other pairs)\n");
        JsonNode gpus = new JsonMapper()
                .readTree(jrun.startUnder(eight, "--dry-run", "--json", "true")
                        .await()
                        .out())
                .get("gpus");
        for (int rank = 0; rank < 8; rank++) {
            assertThat(gpus.get("numaNodes").get("" + rank).asInt()).isEqualTo(rank * cpus / 8);
        }
        assertThat(gpus.get("paths").get("SYS")).hasSize(16);
        assertThat(run("--dry-run", "-n", "3", "true").out())
                .contains("paths between the GPUs: NVLink (the other pairs), same GPU (ranks 0-2)\n");
        if (cpus == 2) {
            assertThat(text).contains("NUMA nodes of the GPUs: 0 (ranks 0 1 2 3), 1 (ranks 4 5 6 7)\n");
        }
    }

    /** NCCL itself says nothing about a file that it leaves out. */
    @Test
    void theDryRunReadsTheTopologyFileOfNccl() throws IOException {
        Path file = Files.writeString(folder.resolve("topology.xml"), """
                <system version="1">
                  <cpu numaid="0" arch="x86_64">
                    <pci busid="0000:00:01.0" class="0x030200"><gpu dev="0" sm="90"/></pci>
                    <pci busid="0000:00:02.0" class="0x030200"><gpu dev="1" sm="90"/></pci>
                    <nic><net name="mlx5_0" dev="0" speed="400000"/></nic>
                  </cpu>
                </system>
                """);
        String fails = ", so NCCL makes no communicator\n";

        assertThat(dryRun(file)).contains("NCCL_TOPO_FILE=" + file + ": the file has 2 GPUs and 1 network adapters\n");
        assertThat(dryRun(folder.resolve("absent.xml")))
                .contains(folder + "/absent.xml: it does not exist, so NCCL reads the topology of the machine\n");
        assertThat(dryRun("<html/>"))
                .contains(": the first element is html, not system, so NCCL reads the topology of the machine\n");
        assertThat(dryRun("<system version=\"1\"><cpu>")).contains(": the file is no whole XML" + fails);
        assertThat(dryRun("<system/>")).contains(": the element system has no version=\"1\"" + fails);
        assertThat(dryRun("<?xml version=\"1.0\"?><system version=\"1\"/>"))
                .contains(": the file has a line <?...?>, which NCCL cannot read" + fails);
        assertThat(dryRun("<system version=\"1\">\n\t<cpu/></system>"))
                .contains(": the file has tabs, which NCCL cannot read" + fails);
    }

    private String dryRun(String topology) throws IOException {
        return dryRun(Files.writeString(folder.resolve("other.xml"), topology));
    }

    private String dryRun(Path topologyFile) {
        return run("--dry-run", "--env=NCCL_TOPO_FILE=" + topologyFile, "true").out();
    }

    @Test
    void aListThatCudaWouldNotTakeIsOneLineAndExitCode2() {
        jrun.with("CUDA_VISIBLE_DEVICES", "1,1");
        Result job = run("sh", "-c", "exit 0");
        Result dry = run("--dry-run", "sh", "-c", "exit 0");
        assertThat(List.of(job, dry)).allSatisfy(result -> {
            assertThat(result.exitCode()).isEqualTo(2);
            assertThat(result.err()).hasLineCount(1).contains("CUDA_VISIBLE_DEVICES=1,1: '1' comes twice");
        });
    }

    /** With the CUDA and NCCL of {@code scripts/testbed/cuda}. Each worker sees its own GPU, as device 0. */
    @Test
    void eightWorkersOfEightGpusUseNcclAndGetItsVariables() throws IOException, InterruptedException {
        Path program = Jars.program(folder.resolve("eight.jar"), "Eight", """
                import io.jrun.comm.*;
                import io.jrun.comm.cuda.DeviceMemory;
                import java.lang.foreign.*;
                public class Eight {
                    static final int COUNT = 1001;

                    static void require(MemorySegment host, int blocks, java.util.function.IntUnaryOperator expected) {
                        for (int i = 0; i < blocks * COUNT; i++) {
                            if (host.getAtIndex(ValueLayout.JAVA_INT, i) != expected.applyAsInt(i / COUNT)) {
                                throw new IllegalStateException(i + ": " + host.getAtIndex(ValueLayout.JAVA_INT, i));
                            }
                        }
                    }

                    public static void main(String[] args) {
                        try (World world = Distributed.init(); Arena arena = Arena.ofShared()) {
                            int rank = world.rank();
                            ProcessGroup all = world.group();
                            MemorySegment one = arena.allocate(4L * COUNT, 4);
                            MemorySegment eight = arena.allocate(8 * 4L * COUNT, 4);
                            try (ProcessGroup group = all.split(0, 0, all.options().withBackend("nccl"));
                                    DeviceMemory mine = new DeviceMemory(Device.cuda(0), 4L * COUNT);
                                    DeviceMemory gathered = new DeviceMemory(Device.cuda(0), 8 * 4L * COUNT);
                                    DeviceMemory exchanged = new DeviceMemory(Device.cuda(0), 8 * 4L * COUNT)) {
                                for (int i = 0; i < COUNT; i++) {
                                    one.setAtIndex(ValueLayout.JAVA_INT, i, rank + 1);
                                }
                                mine.copyFrom(one);
                                group.allGather(mine.buffer(DataType.I32), gathered.buffer(DataType.I32));
                                gathered.copyTo(eight);
                                require(eight, 8, source -> source + 1);
                                group.allToAll(gathered.buffer(DataType.I32), exchanged.buffer(DataType.I32));
                                exchanged.copyTo(eight);
                                require(eight, 8, source -> rank + 1);
                                group.reduceScatter(
                                        gathered.buffer(DataType.I32), mine.buffer(DataType.I32), ReduceOp.SUM);
                                mine.copyTo(one);
                                require(one, 1, block -> 8 * (rank + 1));
                                group.allReduce(mine.buffer(DataType.I32), ReduceOp.SUM);
                                group.broadcast(mine.buffer(DataType.I32), 7);
                                mine.copyTo(one);
                                require(one, 1, block -> 8 * 36);
                            }
                            System.out.println("rank " + rank + " on GPU " + System.getenv("CUDA_VISIBLE_DEVICES")
                                    + " is right, topology " + System.getenv("NCCL_TOPO_FILE"));
                        }
                    }
                }
                """);
        Path topology = Files.writeString(folder.resolve("topology.xml"), "<system version=\"1\"/>");
        List<String> eight = List.of(TWO_GPUS.getFirst(), "8");
        Result result = jrun.with("LD_LIBRARY_PATH", CudaTestbed.libraries().toString())
                .with("SIMCUDA_DEVICES", "8")
                .with("NCCL_TOPO_FILE", topology.toString())
                .startUnder(
                        eight,
                        "--gpu-visibility=one",
                        "--no-prefix",
                        "--timeout=60",
                        "--jvm-opts=-XX:TieredStopAtLevel=1",
                        program.toString())
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .containsExactlyElementsOf(IntStream.range(0, 8)
                        .mapToObj(rank -> "rank " + rank + " on GPU " + rank + " is right, topology " + topology)
                        .toList());
    }

    /** With the CUDA and NCCL of {@code scripts/testbed/cuda}. */
    @Test
    void theProgramOfTheDoctorMeasuresEachPairOfGpus() throws IOException, InterruptedException {
        jrun.with("LD_LIBRARY_PATH", CudaTestbed.libraries().toString()).with("SIMCUDA_DEVICES", "2");
        Result result = run(
                "--no-prefix",
                "--timeout=60",
                "--main-class=io.jrun.bench.gpu.GpuPairs",
                Path.of(System.getProperty("jrun.home"), "lib/bench/bench.jar").toString(),
                "65536");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).matches("pair\t0\t1\t\\d+\t\\d+\\.\\d\n");
    }
}
