package io.jrun.train.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The simulated CUDA shows the errors for which tests use it. */
@Timeout(60)
class SimulatedCudaTest {
    private static final Device DEVICE = Device.cuda(1);
    private static final long BYTES = 1000;

    @TempDir
    private Path folder;

    /** Copies without an event and with one, then reads device memory by its address. */
    public static final class Reads {
        private Reads() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (Arena arena = Arena.ofConfined();
                    DeviceMemory memory = new DeviceMemory(DEVICE, BYTES)) {
                MemorySegment host = arena.allocate(BYTES);
                memory.copyTo(host);
                System.out.println("new memory has " + Integer.toHexString(host.get(ValueLayout.JAVA_INT, 0)));
                MemorySegment onDevice = memory.buffer(DataType.U8).memory();
                DeviceStream slow = SimulatedCuda.stream(DEVICE);
                SimulatedCuda.hold(slow);
                SimulatedCuda.copy(onDevice, arena.allocate(BYTES).fill((byte) 7), slow);
                memory.copyTo(host);
                System.out.println("without an event " + host.get(ValueLayout.JAVA_BYTE, 999));
                SimulatedCuda.release();
                SimulatedCuda.synchronize(DEVICE);
                memory.copyTo(host);
                System.out.println("after the end " + host.get(ValueLayout.JAVA_BYTE, 999));
                System.out.println("holds " + SimulatedCuda.allocatedBytes());
                System.out.flush();
                System.out.println("read by address " + onDevice.get(ValueLayout.JAVA_BYTE, 0));
            }
        }
    }

    @Test
    void memoryCannotBeReadByItsAddressAndAMissingEventShows() throws Exception {
        assertThatThrownBy(
                        () -> SimulatedCuda.start(folder, Reads.class, Map.of()).join())
                .hasMessageContaining("new memory has a5a5a5a5")
                .hasMessageContaining("without an event -91")
                .hasMessageContaining("after the end 7")
                .hasMessageContaining("holds 1000")
                .hasMessageContaining("SIGSEGV")
                .hasMessageNotContaining("read by address");
        List<SimulatedCuda.LoggedCall> calls = SimulatedCuda.calls(folder);
        assertThat(calls).anyMatch(call -> call.text().startsWith("cudaMalloc 1000 bytes device 1"));
        assertThat(calls).noneMatch(call -> call.text().equals("context on device 0"));
    }

    /** Two ranks sum device memory over the simulated NCCL. */
    public static final class Sums {
        private Sums() {}

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(2, world -> {
                try (ProcessGroup group = world.group()
                                .split(0, world.rank(), world.group().options().withBackend("nccl"));
                        Arena arena = Arena.ofConfined();
                        DeviceMemory memory = new DeviceMemory(Device.cuda(world.localRank()), BYTES)) {
                    MemorySegment host = arena.allocate(BYTES).fill((byte) (world.rank() + 1));
                    memory.copyFrom(host);
                    group.allReduce(memory.buffer(DataType.U8), ReduceOp.SUM);
                    memory.copyTo(host);
                    System.out.println("rank " + world.rank() + " has " + host.get(ValueLayout.JAVA_BYTE, BYTES - 1));
                }
            });
        }
    }

    @Test
    void ranksSumDeviceMemory() throws Exception {
        String printed = SimulatedCuda.start(folder, Sums.class, Map.of()).join();
        assertThat(printed).contains("rank 0 has 3", "rank 1 has 3");
    }
}
