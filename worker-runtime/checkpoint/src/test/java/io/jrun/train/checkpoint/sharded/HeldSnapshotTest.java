package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import io.jrun.train.Libtorch;
import io.jrun.train.device.HostCopies;
import io.jrun.train.nccl.SimulatedCuda;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Map;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The memory of snapshots with a simulated GPU. */
@Timeout(120)
class HeldSnapshotTest {
    @TempDir
    private Path folder;

    @Test
    void theMemoryIsPinnedForAGpuUntilItEnds() throws Exception {
        assertThat(SimulatedCuda.start(folder, HeldSnapshotTest.class, Map.of("SIMCUDA_INLINE", "1"))
                        .join())
                .endsWith("pinned\n");
    }

    /** The program of the JVM with a simulated GPU. */
    public static void main(String[] args) {
        Libtorch.setThreads(1);
        StateDict state = new StateDict().putAll("", Map.of("w", torch.randn(new long[] {5, 7})));
        Cuda cuda = Cuda.open();
        try (Arena arena = Arena.ofConfined();
                HostCopies copies = new HostCopies()) {
            HeldSnapshot snapshot = new HeldSnapshot(SnapshotForm.of(state), arena);
            snapshot.beginCopy(state, copies);
            copies.await();
            assertThat(cuda.isReachable(snapshot.memory()))
                    .as("the state is on the CPU")
                    .isFalse();
            snapshot.pinFor(Device.cuda(0));
            snapshot.pinFor(Device.cuda(0));
            assertThat(cuda.isReachable(snapshot.memory())).isTrue();
            snapshot.unpin();
            assertThat(cuda.isReachable(snapshot.memory())).isFalse();
        }
        System.out.println("pinned");
    }
}
