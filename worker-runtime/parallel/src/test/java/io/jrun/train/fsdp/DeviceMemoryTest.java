package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.StackTraining;
import io.jrun.train.TestsOnDevices;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.tensor.SimulatedPlacement;
import java.nio.file.Path;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The bytes of a simulated GPU that the states and the units of a rank take, by the formulas of docs/sharding.md. */
@Timeout(120)
class DeviceMemoryTest {
    private static final int RANKS = 4;
    private static final int LAYERS = 8;
    private static final long WIDTH = 256;
    private static final long UNIT_BYTES = 4 * WIDTH * WIDTH;
    private static final double PARAMETERS = LAYERS * WIDTH * WIDTH;

    @TempDir
    private Path folder;

    /** The program of the test. */
    public static final class Trains {
        private Trains() {}

        /** Entry point. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            for (StackTraining kind : StackTraining.values()) {
                SimulatedPlacement placement = SimulatedPlacement.installForRanks();
                LocalWorld.run(RANKS, world -> new Measures(placement, kind, world).train());
                SimulatedPlacement.remove();
                System.out.println(kind + " has the bytes of the formula");
            }
        }
    }

    /** The measurements of one rank: before the last step, and after it. */
    private static final class Measures {
        private final SimulatedPlacement placement;
        private final StackTraining kind;
        private final World world;
        private final Device device;
        private boolean hasBegun;

        Measures(SimulatedPlacement placement, StackTraining kind, World world) {
            this.placement = placement;
            this.kind = kind;
            this.world = world;
            this.device = Device.cuda(world.localRank());
        }

        void train() {
            kind.train(world, LAYERS, WIDTH, 3, this::measure);
        }

        private void measure() {
            if (!hasBegun) {
                hasBegun = true;
                placement.beginPeak(device);
                return;
            }
            double states = placement.usedBytes(device);
            double besides = (placement.peakBytes(device) - states) / UNIT_BYTES;
            System.out.printf(
                    "%s on rank %d: %.3f bytes a parameter, %.2f units besides%n",
                    kind, world.rank(), states / PARAMETERS, besides);
            assertThat(states / PARAMETERS).isCloseTo(kind.bytesPerParameter(RANKS), Percentage.withPercentage(2));
            if (kind == StackTraining.FSDP) {
                // Two whole units, and the gradients of a unit that travel. The others are in memory of libtorch alone.
                assertThat(besides).isBetween(2.0, 3.0);
            }
        }
    }

    @Test
    void theStatesAndUnitsTakeTheBytesOfTheFormulas() throws Exception {
        String printed = SimulatedCuda.start(folder, Trains.class, TestsOnDevices.SETTINGS)
                .join();
        for (StackTraining kind : StackTraining.values()) {
            assertThat(printed).contains(kind + " has the bytes of the formula");
        }
    }
}
