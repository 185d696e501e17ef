package io.jrun.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.cuda.Cuda;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.SimulatedPlacement;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints of a simulated GPU go through pieces of host memory. */
@Timeout(120)
class DeviceCheckpointTest {
    private static final Device GPU = Device.cuda(0);

    @TempDir
    private Path folder;

    @Test
    void tensorsOfADeviceHaveTheirBitsAfterASaveAndALoad() throws Exception {
        Map<String, String> environment = Map.of("SIMCUDA_INLINE", "1", "JRUN_GPU_DIRECT_STORAGE", "off");
        assertThat(SimulatedCuda.start(folder, DeviceCheckpointTest.class, environment, folder.toString())
                        .join())
                .endsWith("done\n");
    }

    /** A host that can pin no more memory makes copies slow, and no training fail. */
    @Test
    void withoutMemoryToPinTheCopiesLieInOtherMemory() throws Exception {
        Map<String, String> environment = Map.of("SIMCUDA_INLINE", "1", "SIMCUDA_FAIL", "cudaHostAlloc=2");
        assertThat(SimulatedCuda.start(folder, Unpinned.class, environment).join())
                .endsWith("copied\n");
    }

    /** Copies to a host without memory to pin. */
    public static final class Unpinned {
        private Unpinned() {}

        /** Entry point. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            Tensor from = torch.randn(new long[] {5, 7});
            try (HostTensor copy = new HostTensor(GPU, torch.ScalarType.Float, 5, 7)) {
                TensorMemory.copy(from, copy.tensor());
                assertThat(copy.tensor().equal(from)).isTrue();
                assertThat(Cuda.open().isReachable(TensorMemory.segment(copy.tensor())))
                        .isFalse();
            }
            SimulatedCuda.requireNoLastError(); // libtorch would throw it at its next kernel
            System.out.println("copied");
        }
    }

    /** The program of the JVM with a simulated GPU. */
    public static void main(String[] args) {
        Libtorch.setThreads(1);
        copiesForAGpuLieInPinnedMemory();
        SimulatedPlacement.installForRanks();
        torch.manual_seed(7);
        Map<String, Tensor> expected = new LinkedHashMap<>();
        expected.put("pieces", torch.randn(new long[] {3, (4 << 20) + 1})); // 48 MiB and 12 bytes
        expected.put("matrix", torch.randn(new long[] {37, 41}));
        expected.put("number", torch.randn(new long[] {}));
        expected.put("nothing", torch.randn(new long[] {0, 5}));
        LocalWorld.run(1, _ -> saveAndLoad(Path.of(args[0]), expected));
        System.out.println("done");
    }

    private static void copiesForAGpuLieInPinnedMemory() {
        Tensor from = torch.randn(new long[] {5, 7});
        try (HostTensor copy = new HostTensor(GPU, torch.ScalarType.Float, 5, 7);
                HostTensor plain = new HostTensor(Device.CPU, torch.ScalarType.Float, 5, 7)) {
            TensorMemory.copy(from, copy.tensor());
            assertThat(copy.tensor().equal(from)).isTrue();
            assertThat(Cuda.open().isReachable(TensorMemory.segment(copy.tensor())))
                    .isTrue();
            assertThat(Cuda.open().isReachable(TensorMemory.segment(plain.tensor())))
                    .isFalse();
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(100);
            try (PinnedMemory _ = PinnedMemory.pin(GPU, memory).orElseThrow()) {
                assertThat(Cuda.open().isReachable(memory)).isTrue();
            }
            assertThat(Cuda.open().isReachable(memory)).isFalse();
            assertThat(PinnedMemory.pin(Device.CPU, memory)).isEmpty();
        }
    }

    private static void saveAndLoad(Path folder, Map<String, Tensor> expected) {
        try (NoGradGuard _ = new NoGradGuard();
                CheckpointManager manager =
                        CheckpointManager.alone(folder.resolve("checkpoints").toString(), new Retention(3, 0))) {
            StateDict state = new StateDict();
            expected.forEach((name, tensor) -> state.put(name, onDevice(tensor)));
            long waits = DeviceWaits.count();
            manager.save(1, state);
            assertThat(DeviceWaits.count() - waits)
                    .as("4 pieces of the first tensor, one of the matrix and of the number")
                    .isEqualTo(6);
            try (DeviceWaits.Refusal _ = DeviceWaits.refuse()) {
                assertThatThrownBy(() -> manager.saveAsync(2, state)).hasMessageContaining("inside the recorded work");
            }
            waits = DeviceWaits.count();
            manager.saveAsync(2, state);
            assertThat(DeviceWaits.count() - waits)
                    .as("one wait for the copies of all tensors")
                    .isEqualTo(1);
            manager.saveAsync(3, state); // into the memory of the copy before
            manager.await();
            for (long step = 1; step <= 3; step++) {
                Map<String, Tensor> loaded = new LinkedHashMap<>();
                expected.forEach((name, tensor) ->
                        loaded.put(name, TensorMemory.zeros(GPU, torch.ScalarType.Float, TensorMemory.sizes(tensor))));
                loaded.put(
                        "matrix",
                        TensorMemory.zeros(GPU, torch.ScalarType.Float, 41, 37).t());
                manager.open(step).load(new StateDict().putAll("", loaded));
                loaded.forEach((name, tensor) -> assertThat(
                                DeviceWaits.onHost(tensor).equal(Objects.requireNonNull(expected.get(name))))
                        .as(name)
                        .isTrue());
            }
        }
    }

    private static Tensor onDevice(Tensor tensor) {
        Tensor copy = TensorMemory.empty(GPU, torch.ScalarType.Float, TensorMemory.sizes(tensor));
        copy.copy_(tensor);
        return copy;
    }
}
