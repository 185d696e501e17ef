package io.jrun.train.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.CommException;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.ThrowingConsumer;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.reducer.ReductionException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The address of a tensor of another device is no address of this process: to read from it ends the JVM. */
class DeviceTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor elsewhere() {
        return torch.ones(3).to(new Device("meta"), torch.ScalarType.Float);
    }

    @Test
    void segmentsAreOfTheCpuOnly() {
        assertThatThrownBy(() -> TensorMemory.segment(elsewhere()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("tensor of shape [3] is on the device meta")
                .hasMessageContaining("tensor.cpu()");
        assertThat(TensorMemory.device(torch.ones(1))).isEqualTo(io.jrun.comm.Device.CPU);
    }

    @Test
    void aCollectiveNamesTensorDeviceAndBackend() {
        for (ThrowingConsumer<TensorCollectives> call : List.<ThrowingConsumer<TensorCollectives>>of(
                collectives -> collectives.allReduce(elsewhere(), ReduceOp.SUM),
                collectives -> collectives.allReduceAsync(elsewhere(), ReduceOp.SUM),
                collectives -> collectives.broadcastAll(List.of(elsewhere()), 0))) {
            assertThatThrownBy(() -> LocalWorld.run(2, world -> call.accept(new TensorCollectives(world.group()))))
                    .isInstanceOf(CommException.class)
                    .hasMessageContaining("of a tensor Float[3]: the buffer is on the device meta:0, but jrun moves")
                    .hasMessageContaining("Copy the elements to host memory");
        }
    }

    @Test
    void aCheckpointNamesTheTensorAndTheDevice(@TempDir Path folder) {
        Path file = folder.resolve("file");
        assertThatThrownBy(() -> Safetensors.write(file, Map.of("weight", elsewhere()), Map.of()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("tensor 'weight' is on the device meta");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void ddpNamesTheTensorAndTheDevice() {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    Module model = new Module();
                    model.register_parameter("here", torch.ones(1));
                    model.register_buffer("there", elsewhere());
                    new DistributedDataParallel<>(model, world.group());
                }))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("tensor 'there' is on the device meta");
    }

    @Test
    void modelsOnDifferentDevicesAreAnErrorOnAllRanks() {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    Module model = new Module();
                    model.register_parameter("a", world.rank() == 0 ? torch.ones(3) : elsewhere());
                    new DistributedDataParallel<>(model, world.group());
                }))
                .isInstanceOf(ReductionException.class)
                .hasMessageContaining("'a' Float[3] on rank 0 but 'a' Float[3] on meta on rank 1");
    }
}
