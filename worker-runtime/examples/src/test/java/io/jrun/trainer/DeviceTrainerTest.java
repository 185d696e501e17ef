package io.jrun.trainer;

import io.jrun.train.TestsOnDevices;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

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
}
