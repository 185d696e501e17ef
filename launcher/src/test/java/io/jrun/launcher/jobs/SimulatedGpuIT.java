package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.nio.file.Files;
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
}
