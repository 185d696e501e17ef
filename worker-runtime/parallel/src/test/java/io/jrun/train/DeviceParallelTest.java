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
    private static final String FILES = "io.jrun.train.offload.OffloadedOptimizerTest";
    private static final String RINGS = "io.jrun.train.context.ContextParallelTest";
    private static final String LAYERS = "io.jrun.train.tensorparallel.TensorParallelTest";

    private static final String STEPS = "#parametersAfterTenStepsEqualTheSerialOnes("
            + "io.jrun.train.context.ContextParallel$Exchange,int,org.bytedeco.pytorch.global.torch$ScalarType)";
    private static final String BITS = "#theBitsAreThoseOfTrainingInMemory()";
    private static final String FROZEN = "#frozenParametersDoNotChange()";

    @TempDir
    private Path folder;

    /** All tests of these classes under -Djrun.soak=true. */
    @Test
    void parametersAreThoseOfOneRank() throws Exception {
        if (Boolean.getBoolean("jrun.soak")) {
            TestsOnDevices.run(
                    folder, 77, PAIRS, PIPELINES, EXPERTS, SHARDS, LAYERS, FILES + FROZEN, FILES + BITS, RINGS + STEPS);
        } else {
            TestsOnDevices.run(
                    folder,
                    31,
                    PAIRS + "#hasTheNormsAndParametersOfOneRank(" + PAIRS + "$Data," + PAIRS + "$Shared)",
                    PIPELINES + "#replicasRecomputationReducedPrecisionAndClippingCompose(java.lang.String,int)",
                    EXPERTS + "#parametersAfterTenStepsEqualTheSerialOnes(" + EXPERTS + "$Data,int,int,int,double,"
                            + "org.bytedeco.pytorch.global.torch$ScalarType,boolean)",
                    FILES + BITS,
                    RINGS + STEPS,
                    SHARDS + "#aPassAfterAnUpdateAddsToTheGradientsThatStayAsWithDdp()",
                    SHARDS + "#replicasOfShardsAccumulateAndRecomputeWithTheSameBits()");
        }
    }
}
