package io.jrun.train.offload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.cuda.Cuda;
import io.jrun.train.Libtorch;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.tensor.SimulatedPlacement;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Copies between a simulated GPU and pinned memory follow the order of the default stream. */
@Timeout(120)
class HostMemoryTest {
    private static final long ELEMENTS = 100;
    private static final Device GPU = Device.cuda(0);

    @TempDir
    private Path folder;

    @Test
    void copiesFollowTheOrderOfTheStreamAndMemoryIsUsedAgainAfterThem() throws Exception {
        assertThat(SimulatedCuda.start(folder, HostMemoryTest.class, Map.of(), folder.toString())
                        .join())
                .endsWith("done\n");
    }

    /** The program of the JVM with a simulated GPU, whose streams run beside the program. */
    public static void main(String[] args) {
        Libtorch.load();
        SimulatedPlacement.install();
        copyToTheHostWaitsForEarlierWork();
        memoryIsUsedAgainAfterTheCopyToTheDevice();
        memoryOfAQueuedCopyIsNotFreed();
        aLateGpuIsTheReasonInTheMessage(Path.of(args[0]));
        System.out.println("done");
    }

    private static void copyToTheHostWaitsForEarlierWork() {
        try (HostMemory memory = new HostMemory(Duration.ofSeconds(30))) {
            Tensor gradients = onDevice(1);
            SimulatedCuda.hold(DeviceStream.defaultOf(GPU));
            set(gradients, 2); // queued: a copy that did not wait would see 1
            HostElements elements = memory.copyOf(gradients);
            try (HostMemory impatient = new HostMemory(Duration.ofMillis(20))) {
                assertThatThrownBy(() -> impatient.copyOf(gradients).awaitCopy())
                        .isInstanceOf(OffloadException.class)
                        .hasMessageContaining("between cuda:0 and host memory has not ended within PT0.02S");
            }
            SimulatedCuda.release();
            elements.awaitCopy();
            assertThat(first(elements)).isEqualTo(2);
            elements.release();
        }
    }

    private static void memoryIsUsedAgainAfterTheCopyToTheDevice() {
        try (HostMemory memory = new HostMemory(Duration.ofSeconds(30))) {
            Tensor values = onDevice(0);
            SimulatedCuda.hold(DeviceStream.defaultOf(GPU));
            HostElements first = memory.of(values);
            fill(first, 3);
            long address = address(first);
            first.copyToDevice();
            HostElements second = memory.of(values); // the copy of the first has not run
            assertThat(address(second)).isNotEqualTo(address);
            fill(second, 4);
            second.release();
            SimulatedCuda.release();
            SimulatedCuda.synchronize(GPU);
            HostElements third = memory.copyOf(values);
            third.awaitCopy();
            assertThat(first(third)).isEqualTo(3);
            assertThat(address(third)).as("memory that is free").isEqualTo(address);
            third.release();
        }
    }

    private static void memoryOfAQueuedCopyIsNotFreed() {
        Tensor values = onDevice(0);
        HostMemory memory = new HostMemory(Duration.ofMillis(20));
        HostElements elements = memory.of(values);
        fill(elements, 5);
        SimulatedCuda.hold(DeviceStream.defaultOf(GPU));
        elements.copyToDevice();
        memory.close();
        assertThat(Cuda.open().isReachable(elements.onHost())).as("not freed").isTrue();
        SimulatedCuda.release();
        SimulatedCuda.synchronize(GPU);
        HostMemory other = new HostMemory(Duration.ofSeconds(30));
        HostElements copied = other.copyOf(values);
        copied.awaitCopy();
        assertThat(first(copied)).isEqualTo(5);
        copied.release();
        other.close();
        assertThat(Cuda.open().isReachable(copied.onHost())).as("freed").isFalse();
    }

    /** The deadline of the request ends before that of the copy, for which the thread of files waits. */
    private static void aLateGpuIsTheReasonInTheMessage(Path folder) {
        UnitFile file = new UnitFile(folder.resolve("unit"), ELEMENTS * 4);
        OffloadedUnit unit = new OffloadedUnit("layer3", file, ELEMENTS * 4, 1, torch.ScalarType.Float);
        try (HostMemory memory = new HostMemory(Duration.ofSeconds(30));
                FileThreads threads = new FileThreads(Duration.ofSeconds(1))) {
            Tensor gradients = onDevice(1);
            SimulatedCuda.hold(DeviceStream.defaultOf(GPU));
            HostElements elements = memory.copyOf(gradients);
            FileTask<OffloadedUnit> write = threads.write(
                    unit, "the write of gradients", elements::isCopied, () -> unit.writeGradients(elements));
            assertThatThrownBy(write::join)
                    .isInstanceOf(OffloadException.class)
                    .hasMessageContaining("layer3")
                    .hasMessageContaining("The GPU has not ended the work before the copy to host memory")
                    .hasMessageNotContaining("disk");
            SimulatedCuda.release();
        }
        unit.close();
    }

    private static Tensor onDevice(float value) {
        Tensor tensor = TensorMemory.empty(GPU, torch.ScalarType.Float, ELEMENTS);
        set(tensor, value);
        SimulatedCuda.synchronize(GPU);
        return tensor;
    }

    /** Queues a copy of equal elements on the default stream. */
    private static void set(Tensor tensor, float value) {
        MemorySegment host = Arena.global().allocate(ValueLayout.JAVA_FLOAT, ELEMENTS);
        for (long i = 0; i < ELEMENTS; i++) {
            host.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
        SimulatedCuda.copy(TensorMemory.elements(tensor), host, DeviceStream.defaultOf(GPU));
    }

    private static void fill(HostElements elements, float value) {
        for (long i = 0; i < ELEMENTS; i++) {
            elements.onHost().setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
        }
    }

    private static float first(HostElements elements) {
        return elements.onHost().getAtIndex(ValueLayout.JAVA_FLOAT, 0);
    }

    private static long address(HostElements elements) {
        return elements.onHost().address();
    }
}
