package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Jobs whose workers use the simulated CUDA and NCCL of scripts/testbed/cuda. */
class SimulatedGpuIT extends RealJobs {
    private static final long MAX_MILLIS = 6000;

    /** Rank 1 gets SIGKILL while the device of rank 0 waits for its data. */
    @Test
    void aKilledRankIsNamedAndTheRestartSumsOnTheDevices() throws Exception {
        Files.writeString(folder.resolve("Sums.java"), """
            import io.jrun.comm.*;
            import io.jrun.comm.cuda.DeviceMemory;
            import java.lang.foreign.*;
            import java.util.concurrent.*;

            void main() throws Exception {
                // The agent stops rank 0 when rank 1 is lost. The process ends after rank 0 has said what it saw.
                CountDownLatch said = new CountDownLatch(1);
                Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                    try {
                        said.await(20, TimeUnit.SECONDS);
                    } catch (InterruptedException stopped) {
                        Thread.currentThread().interrupt();
                    }
                }));
                try (World world = Distributed.init();
                        ProcessGroup group = world.group()
                                .split(0, world.rank(), world.group().options().withBackend("nccl"));
                        Arena arena = Arena.ofConfined();
                        DeviceMemory memory = new DeviceMemory(Device.cuda(world.localRank()), 1_000_000)) {
                    MemorySegment host = arena.allocate(1_000_000).fill((byte) (world.rank() + 1));
                    memory.copyFrom(host);
                    group.allReduceAsync(memory.buffer(DataType.U8), ReduceOp.SUM).await();
                    memory.copyTo(host);
                    if (System.getenv("TORCHELASTIC_RESTART_COUNT").equals("0")) {
                        world.group().barrier(); // both ranks have the sum of the first call
                        if (world.rank() == 1) {
                            new ProcessBuilder("kill", "-9", "" + ProcessHandle.current().pid()).start().waitFor();
                        }
                        long begin = System.nanoTime();
                        try {
                            group.allReduceAsync(memory.buffer(DataType.U8), ReduceOp.SUM).await();
                        } catch (CommException lost) {
                            System.out.println("after " + (System.nanoTime() - begin) / 1_000_000 + " ms: "
                                    + lost.getMessage());
                            throw lost;
                        }
                    }
                    System.out.println("sum " + host.get(ValueLayout.JAVA_BYTE, 999_999));
                } finally {
                    said.countDown();
                }
            }
            """);
        Result result = jrun.with("LD_LIBRARY_PATH", CudaTestbed.libraries().toString())
                .run("--nproc-per-node=2", "--max-restarts=1", "Sums.java");
        assertThat(result.exitCode()).as(result.toString()).isZero();
        assertThat(result.sortedOut())
                .filteredOn(line -> line.contains("sum "))
                .hasSize(2)
                .allMatch(line -> line.endsWith("sum 3"));
        Matcher lost = Pattern.compile("after (\\d+) ms: .*rank 1 ").matcher(result.out());
        assertThat(lost.find()).as(result.out()).isTrue();
        assertThat(Long.parseLong(lost.group(1))).isLessThan(MAX_MILLIS);
    }

    /** Rank 1 gets SIGKILL before a sum of NCCL, and its successor before a sum of jrun's own plane. */
    @Test
    void theOtherProcessesGoOnWithTheirDevicesAfterEachLoss() throws Exception {
        Path program = Jars.program(folder.resolve("trebles.jar"), "Trebles", """
            import io.jrun.comm.*;
            import io.jrun.comm.cuda.DeviceMemory;
            import io.jrun.comm.elastic.*;
            import java.lang.foreign.*;

            /** A value in device memory, which each step sums over three ranks. */
            public class Trebles implements ElasticState {
                static final int COUNT = 100_000;
                static final String LIFE = System.getenv("TORCHELASTIC_RESTART_COUNT");
                final MemorySegment host = Arena.global().allocate(8L * COUNT, 8);
                final DeviceMemory memory;
                final Buffer value;
                int step;
                int savedStep;

                Trebles(Device device) {
                    memory = new DeviceMemory(device, 8L * COUNT);
                    value = memory.buffer(DataType.I64);
                    for (int i = 0; i < COUNT; i++) {
                        host.setAtIndex(ValueLayout.JAVA_LONG, i, 1);
                    }
                    memory.copyFrom(host);
                }

                public void save() {
                    memory.copyTo(host);
                    savedStep = step;
                }

                public void restore() {
                    memory.copyFrom(host);
                    step = savedStep;
                }

                public void broadcast(ProcessGroup group, int root) {
                    group.broadcast(value, root);
                    int[] number = {step};
                    group.broadcast(MemorySegment.ofArray(number), DataType.I32, 1, root);
                    step = number[0];
                }

                void run(ElasticRound round) throws Exception {
                    World world = round.world();
                    System.out.println("process " + ProcessHandle.current().pid() + " begins as rank " + world.rank()
                            + " at step " + step);
                    ProcessGroup all = round.group();
                    try (ProcessGroup nccl = all.split(0, 0, all.options().withBackend("nccl"));
                            ProcessGroup own = all.split(0, 0, all.options().withBackend("jrun-only"))) {
                        while (step < 6) {
                            boolean isLost = step == 2 && LIFE.equals("0") || step == 3 && LIFE.equals("1");
                            if (isLost && world.rank() == 1) {
                                new ProcessBuilder("kill", "-9", "" + ProcessHandle.current().pid()).start().waitFor();
                            }
                            (step % 2 == 0 ? nccl : own).allReduceAsync(value, ReduceOp.SUM).await();
                            step++;
                            round.commit();
                        }
                    }
                    for (int i = 0; i < COUNT; i++) {
                        if (host.getAtIndex(ValueLayout.JAVA_LONG, i) != 729) { // 3 to the power of 6
                            throw new IllegalStateException(i + ": " + host.getAtIndex(ValueLayout.JAVA_LONG, i));
                        }
                    }
                    System.out.println("rank " + world.rank() + " has 729");
                }

                public static void main(String[] args) throws Exception {
                    Trebles state = new Trebles(Device.cuda(Integer.parseInt(System.getenv("LOCAL_RANK"))));
                    Elastic.run(state, state::run);
                }
            }
            """);
        Result result = jrun.with("LD_LIBRARY_PATH", CudaTestbed.libraries().toString())
                .with("SIMCUDA_DEVICES", "3")
                .run(
                        "--nproc-per-node=3",
                        "--max-restarts=2",
                        "--no-prefix",
                        "--jvm-opts=-XX:TieredStopAtLevel=1",
                        program.toString());
        assertThat(result.exitCode()).as(result.toString()).isZero();
        assertThat(result.out()).contains("rank 0 has 729\n", "rank 1 has 729\n", "rank 2 has 729\n");
        for (int rank = 0; rank < 3; rank++) {
            List<MatchResult> rounds = Pattern.compile("process (\\d+) begins as rank " + rank + " at step (\\d)\n")
                    .matcher(result.out())
                    .results()
                    .toList();
            assertThat(rounds)
                    .as(result.out())
                    .extracting(round -> round.group(2))
                    .containsExactly("0", "2", "3");
            assertThat(rounds.stream().map(round -> round.group(1)).distinct()).hasSize(rank == 1 ? 3 : 1);
        }
    }
}
