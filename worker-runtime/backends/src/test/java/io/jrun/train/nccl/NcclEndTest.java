package io.jrun.train.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Buffer;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.comm.World;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How groups on device memory end: closed right after an operation, aborted, or without a rank. */
@Timeout(60)
class NcclEndTest {
    private static final long BYTES = 1000;

    @TempDir
    private Path folder;

    private static ProcessGroup nccl(World world, int color, Duration timeout) {
        GroupOptions options = world.group().options().withBackend("nccl").withTimeout(timeout);
        return world.group().split(color, world.rank(), options);
    }

    private static Device deviceOf(World world) {
        return Device.cuda(world.localRank());
    }

    /** Rank 0 has sent its data and closes the group. The stream of rank 1 reads the data later. */
    public static final class Closes {
        private Closes() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                Device device = deviceOf(world);
                byte[] values = new byte[(int) BYTES];
                try (Arena arena = Arena.ofConfined();
                        DeviceMemory memory = new DeviceMemory(device, BYTES)) {
                    MemorySegment host = arena.allocate(BYTES);
                    try (ProcessGroup group = nccl(world, 0, Duration.ofSeconds(30))) {
                        memory.copyFrom(host.fill((byte) (10 + world.rank())));
                        group.broadcast(memory.buffer(DataType.U8), 0);
                        memory.copyFrom(host.fill((byte) (20 + world.rank())));
                        if (world.rank() == 1) {
                            SimulatedCuda.delay(DeviceStream.defaultOf(device), Duration.ofMillis(300));
                        }
                        group.broadcast(memory.buffer(DataType.U8), 0);
                    }
                    memory.copyTo(host);
                    MemorySegment.copy(host, ValueLayout.JAVA_BYTE, 0, values, 0, values.length);
                }
                assertThat(values).containsOnly(20);
                System.out.println("rank " + world.rank() + " closed");
            });
        }
    }

    @Test
    void aRankThatClosesWaitsUntilTheOthersHaveTheirData() throws Exception {
        String printed = SimulatedCuda.start(folder, Closes.class, Map.of()).join();
        assertThat(printed).contains("rank 0 closed", "rank 1 closed");
        List<SimulatedCuda.LoggedCall> calls = SimulatedCuda.calls(folder);
        assertThat(calls).noneMatch(call -> call.text().startsWith("ncclCommAbort"));
        assertThat(calls.stream().filter(call -> call.text().startsWith("ncclCommFinalize")))
                .hasSize(2);
        assertThat(calls.stream().filter(call -> call.text().matches("ncclCommDestroy 0x\\w+")))
                .hasSize(2);
        assertThat(calls).noneMatch(call -> call.text().contains("illegal access"));
    }

    /** Groups that fail, one after the other on the same devices. */
    public static final class Fails {
        private Fails() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                try (DeviceMemory memory = new DeviceMemory(deviceOf(world), BYTES)) {
                    Buffer buffer = memory.buffer(DataType.U8);
                    withoutARank(world, buffer);
                    aborted(world, buffer);
                    notQueued(world, buffer);
                    twoOnOneDevice(world);
                    withoutFailure(world, buffer);
                }
            });
        }

        /** Rank 1 does not come to the second operation. */
        private static void withoutARank(World world, Buffer buffer) {
            try (ProcessGroup group = nccl(world, 0, Duration.ofSeconds(30))) {
                group.allReduceAsync(buffer, ReduceOp.SUM).await();
                if (world.rank() == 0) {
                    long begin = System.nanoTime();
                    Work late = group.withTimeout(Duration.ofSeconds(1)).allReduceAsync(buffer, ReduceOp.SUM);
                    assertThatThrownBy(late::await)
                            .isInstanceOfSatisfying(
                                    CommException.class,
                                    e -> assertThat(e.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT))
                            .hasMessageContaining("rank 1");
                    assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(6));
                    System.out.println(
                            "without a rank: " + late.exception().orElseThrow().getMessage());
                }
                world.group().barrier();
            }
        }

        /** Rank 1 aborts the group while the device of rank 0 waits for the data of rank 1. */
        private static void aborted(World world, Buffer buffer) {
            try (ProcessGroup group = nccl(world, 0, Duration.ofSeconds(30))) {
                group.allReduceAsync(buffer, ReduceOp.SUM).await();
                if (world.rank() == 1) {
                    SimulatedCuda.hold(DeviceStream.defaultOf(deviceOf(world)));
                }
                Work work = group.allReduceAsync(buffer, ReduceOp.SUM);
                world.group().barrier();
                if (world.rank() == 1) {
                    group.abort("a test");
                }
                assertThatThrownBy(work::await)
                        .hasMessageContaining("was aborted by rank 1")
                        .hasMessageContaining("a test");
                System.out.println("aborted: rank " + world.rank());
                world.group().barrier();
                SimulatedCuda.release();
            }
        }

        /** NCCL refuses an operation that the thread of the program queues. */
        private static void notQueued(World world, Buffer buffer) {
            try (ProcessGroup group = nccl(world, 0, Duration.ofSeconds(30))) {
                group.allReduceAsync(buffer, ReduceOp.SUM).await();
                world.group().barrier();
                SimulatedCuda.set("SIMCUDA_FAIL", "ncclAllReduce=3");
                Work work = group.allReduceAsync(buffer, ReduceOp.SUM);
                assertThatThrownBy(work::await).hasMessageContaining("NCCL error 3 (internal error)");
                System.out.println("not queued: rank " + world.rank());
                world.group().barrier();
                SimulatedCuda.set("SIMCUDA_FAIL", "");
                world.group().barrier();
            }
        }

        private static void twoOnOneDevice(World world) {
            assertThatThrownBy(() -> new OneDevice(world).run())
                    .isInstanceOf(CommException.class)
                    .hasMessageContaining("two ranks on one GPU")
                    .hasMessageContaining("NCCL_HOSTID")
                    .hasMessageContaining("--backend=jrun");
            System.out.println("refused: rank " + world.rank());
            world.group().barrier();
        }

        private static void withoutFailure(World world, Buffer buffer) {
            try (ProcessGroup group = nccl(world, 0, Duration.ofSeconds(30))) {
                group.allReduceAsync(buffer, ReduceOp.SUM).await();
                System.out.println("usable: rank " + world.rank());
            }
        }
    }

    /** NCCL reports that the ranks share a GPU. */
    private record OneDevice(World world) {
        void run() {
            world.group().barrier();
            SimulatedCuda.set("SIMCUDA_FAIL", "ncclCommInitRankConfig=5");
            try (ProcessGroup group = nccl(world, 0, Duration.ofSeconds(30));
                    DeviceMemory memory = new DeviceMemory(deviceOf(world), BYTES)) {
                group.allReduceAsync(memory.buffer(DataType.U8), ReduceOp.SUM).await();
            } finally {
                world.group().barrier();
                SimulatedCuda.set("SIMCUDA_FAIL", "");
            }
        }
    }

    @Test
    void failuresNameTheRankAndLeaveTheDevicesUsable() throws Exception {
        String printed = SimulatedCuda.start(folder, Fails.class, Map.of()).join();
        for (String what : List.of("aborted", "not queued", "refused", "usable")) {
            assertThat(printed).contains(what + ": rank 0", what + ": rank 1");
        }
        assertThat(printed).contains("without a rank: ");
        // One communicator of each rank for each of the first three groups; the fourth group has none.
        assertThat(SimulatedCuda.calls(folder).stream()
                        .filter(call -> call.text().startsWith("ncclCommAbort")))
                .hasSize(6);
    }
}
