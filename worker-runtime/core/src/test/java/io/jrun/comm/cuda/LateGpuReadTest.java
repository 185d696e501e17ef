package io.jrun.comm.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.file.DirectFile;
import io.jrun.train.nccl.SimulatedCuda;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A read by GPUDirect Storage whose copy waits for a simulated GPU that does not end its work. */
@Timeout(120)
class LateGpuReadTest {
    private static final Device GPU = Device.cuda(0);

    @TempDir
    private Path folder;

    @Test
    void aCopyThatDoesNotEndIsOneLine() throws Exception {
        Path file = Files.write(folder.resolve("file"), new byte[10_000]);
        assertThat(SimulatedCuda.start(folder, LateGpuReadTest.class, Map.of(), file.toString())
                        .join())
                .endsWith("done\n");
    }

    /** The program of the JVM with a simulated GPU, whose streams run beside the program. */
    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[0]);
        Cuda cuda = Cuda.open();
        cuda.use(GPU.index());
        MemorySegment target = cuda.device(5000).reinterpret(5000);
        GpuDirectStorage storage = new GpuDirectStorage("auto", Duration.ofMillis(20));
        try (DeviceFile opened = storage.open(file, DirectFile.keyOf(file), GPU).orElseThrow()) {
            SimulatedCuda.hold(DeviceStream.defaultOf(GPU));
            assertThatThrownBy(() -> opened.read(0, target))
                    .isInstanceOf(InterruptedIOException.class)
                    .hasMessage("a copy of 5000 bytes on cuda:0 has not ended within PT0.02S: the work of the GPU"
                            + " before the copy has not ended. Find the kernel or the collective that does not end");
            SimulatedCuda.release();
            SimulatedCuda.synchronize(GPU);
        }
        cuda.freeDevice(target);
        System.out.println("done");
    }
}
