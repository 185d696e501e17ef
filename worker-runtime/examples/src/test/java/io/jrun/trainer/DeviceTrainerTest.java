package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.examples.CasesOfSeed;
import io.jrun.train.Libtorch;
import io.jrun.train.TestsOnDevices;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.tensor.SimulatedPlacement;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** train.jar on meshes with the tensors of each rank in device memory; also its checkpoints. */
@Timeout(300)
class DeviceTrainerTest {
    private static final String MESHES = "io.jrun.trainer.MeshModelTest";
    private static final String SHARED = "io.jrun.trainer.SharedModelTest";

    @TempDir
    private Path folder;

    /** All meshes and their checkpoints under -Djrun.soak=true. */
    @Test
    void parametersAreThoseOfOneRank() throws Exception {
        String loading = SHARED + "#aCheckpointOfOneMeshIsLoadedOnAnother(int,java.lang.String,int,java.lang.String)";
        if (Boolean.getBoolean("jrun.soak")) {
            TestsOnDevices.run(
                    folder,
                    47,
                    MESHES,
                    loading,
                    SHARED + "#statesInFilesGiveTheLossesOfMemoryAndGoOn(java.lang.String)");
        } else {
            TestsOnDevices.run(
                    folder,
                    5,
                    MESHES + "#theParametersAreThoseOfOneRank(" + MESHES + "$Mesh," + MESHES + "$ComparedType)");
        }
    }

    /** Trains on a mesh with the tensors in each kind of memory, and loads each checkpoint into the other kind. */
    public static final class Compares {
        private final Path folder;

        private Compares(Path folder) {
            this.folder = folder;
        }

        /** Entry point: a folder, and the number of a mesh. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            MeshModelTest.Mesh mesh = MeshModelTest.MESHES.get(Integer.parseInt(args[1]));
            new Compares(Path.of(args[0])).compare(mesh);
            System.out.println("equal: " + mesh.flags());
        }

        private void compare(MeshModelTest.Mesh mesh) {
            String[] flags = (mesh.flags() + MeshModelTest.PARTLY_CLIPPED).split(" ");
            Map<String, double[]> onHost = train("host", mesh, flags);
            SimulatedPlacement.installForRanks();
            Map<String, double[]> onDevices = train("devices", mesh, flags);
            assertThat(SimulatedCuda.allocatedBytes()).isPositive();
            CheckpointContents.assertSame(onDevices, onHost, mesh.flags());
            CheckpointContents.assertSame(load("host", mesh, flags), onHost, "loaded on devices: " + mesh.flags());
            SimulatedPlacement.remove();
            CheckpointContents.assertSame(load("devices", mesh, flags), onDevices, "loaded on hosts: " + mesh.flags());
        }

        private Map<String, double[]> train(String name, MeshModelTest.Mesh mesh, String... flags) {
            return MeshModelTest.train(folder, name, mesh.ranks(), System.out, flags);
        }

        private Map<String, double[]> load(String name, MeshModelTest.Mesh mesh, String... flags) {
            return CheckpointContents.loadedAndSaved(
                    mesh.ranks(),
                    MeshModelTest.options(folder, name, flags),
                    folder.resolve(name),
                    MeshModelTest.STEPS,
                    folder.resolve("loaded-" + name));
        }
    }

    /** All meshes under -Djrun.soak=true. */
    static List<Integer> meshes() {
        return CasesOfSeed.draw(
                IntStream.range(0, MeshModelTest.MESHES.size()).boxed().toList(), 1);
    }

    @ParameterizedTest
    @MethodSource("meshes")
    void trainingsAndCheckpointsHaveTheBitsOfHostMemory(int mesh) throws Exception {
        String printed = SimulatedCuda.start(
                        folder, Compares.class, TestsOnDevices.SETTINGS, folder.toString(), String.valueOf(mesh))
                .join();
        assertThat(printed).contains("equal: " + MeshModelTest.MESHES.get(mesh).flags());
    }
}
