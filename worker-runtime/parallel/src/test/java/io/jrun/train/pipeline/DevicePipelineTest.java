package io.jrun.train.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.pipeline.schedule.PipelineAction;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.tensor.SimulatedPlacement;
import io.jrun.train.tensor.TensorMemory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Messages of a pipeline on simulated devices. */
@Timeout(60)
class DevicePipelineTest {
    private static final int MICRO_BATCHES = 3;
    private static final int ELEMENTS = 5003;

    @TempDir
    private Path folder;

    @Test
    void theHostDoesNotWaitForTheSendsOfAStep() throws Exception {
        String printed = SimulatedCuda.start(
                        folder, Sends.class, Map.of("SIMCUDA_DEVICES", "2", "SIMCUDA_COPY_MICROS", "1000"))
                .join();
        assertThat(printed).contains("rank 0 has run its step on a held device", "rank 1 has 1, 2 and 3");
    }

    /** Rank 0 sends the outputs of three micro-batches, and its device does not run before the end of the step. */
    public static final class Sends implements StageComputation {
        private final Device device;

        private Sends(Device device) {
            this.device = device;
        }

        /** Entry point. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            SimulatedPlacement placement = SimulatedPlacement.install();
            LocalWorld.run(2, world -> {
                Device device = Device.cuda(world.localRank());
                placement.use(device);
                var schedule = ScheduleKind.GPIPE.schedule(2, 1, MICRO_BATCHES).forwardOnly(MICRO_BATCHES);
                try (ProcessGroup group = world.group()
                        .split(
                                0,
                                world.rank(),
                                world.group().options().withBackend("jrun-only").withTimeout(Duration.ofSeconds(5)))) {
                    PipelineExecutor executor = new PipelineExecutor(schedule, group, device);
                    if (world.rank() == 0) {
                        SimulatedCuda.hold(DeviceStream.defaultOf(device));
                    }
                    executor.run(new Sends(device));
                    if (world.rank() == 0) {
                        System.out.println("rank 0 has run its step on a held device");
                        SimulatedCuda.release();
                    } else {
                        System.out.println("rank 1 has 1, 2 and 3");
                    }
                }
            });
        }

        @Override
        public @Nullable Tensor forward(PipelineAction action, @Nullable Tensor input) {
            if (input == null) {
                Tensor output = TensorMemory.own(TensorMemory.empty(device, torch.ScalarType.Float, ELEMENTS));
                return output.fill_(new Scalar(action.microBatch() + 1));
            }
            SimulatedCuda.synchronize(device); // the simulated libtorch has no streams
            try (input) {
                assertThat(input.min().item_float()).isEqualTo(action.microBatch() + 1);
                assertThat(input.max().item_float()).isEqualTo(action.microBatch() + 1);
            }
            return null;
        }

        @Override
        public @Nullable Tensor backward(PipelineAction action, @Nullable Tensor outputGradient) {
            throw new IllegalStateException("a forward pass has no " + action);
        }

        @Override
        public void weightBackward(PipelineAction action) {
            throw new IllegalStateException("a forward pass has no " + action);
        }
    }
}
