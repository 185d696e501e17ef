package io.jrun.train;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Parallelisms with the tensors of each rank in device memory: the parameters are those of one rank in host memory. */
@Timeout(300)
class DeviceParallelTest {
    private static final String PAIRS = "io.jrun.train.CompositionTest";
    private static final String PIPELINES = "io.jrun.train.pipeline.PipelineEqualityTest";
    private static final String EXPERTS = "io.jrun.train.expert.ExpertParallelTest";
    private static final String SHARDS = "io.jrun.train.fsdp.FsdpEqualityTest";
    private static final String LAYERS = "io.jrun.train.tensorparallel.TensorParallelTest";

    @TempDir
    private Path folder;

    /** All tests of these classes under -Djrun.soak=true. */
    @Test
    void parametersAreThoseOfOneRank() throws Exception {
        if (Boolean.getBoolean("jrun.soak")) {
            TestsOnDevices.run(folder, 70, PAIRS, PIPELINES, EXPERTS, SHARDS, LAYERS);
        } else {
            TestsOnDevices.run(
                    folder,
                    25,
                    PAIRS + "#hasTheNormsAndParametersOfOneRank(" + PAIRS + "$Data," + PAIRS + "$Shared)",
                    PIPELINES + "#replicasRecomputationReducedPrecisionAndClippingCompose(java.lang.String,int)",
                    EXPERTS + "#parametersAfterTenStepsEqualTheSerialOnes(int,int,int,double,"
                            + "org.bytedeco.pytorch.global.torch$ScalarType,boolean)",
                    SHARDS + "#replicasOfShardsAccumulateAndRecomputeWithTheSameBits()");
        }
    }
}
