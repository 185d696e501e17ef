package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.tensor.SimulatedPlacement;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Tests of parallelisms run again with the tensors of each rank in the memory of a simulated GPU, which ends the process
 * if somebody reads the memory by its address. The tests compare parameters with those of one rank in host memory.
 */
@Timeout(300)
class DeviceParallelTest {
    @TempDir
    private Path folder;

    /** The program of the test. Its arguments are methods of tests. */
    public static final class OnDevices {
        private OnDevices() {}

        /** Entry point. */
        public static void main(String[] methods) {
            Libtorch.setThreads(1);
            SimulatedPlacement.installForRanks();
            LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                    .selectors(Arrays.stream(methods)
                            .map(name -> name.contains("#") ? selectMethod(name) : selectClass(name))
                            .toList())
                    .build();
            SummaryGeneratingListener listener = new SummaryGeneratingListener();
            LauncherFactory.create().execute(request, listener);
            TestExecutionSummary summary = listener.getSummary();
            summary.getFailures().forEach(failure -> {
                System.out.println(failure.getTestIdentifier().getLegacyReportingName());
                failure.getException().printStackTrace(System.out);
            });
            System.out.println(
                    summary.getTestsSucceededCount() + " succeeded, " + summary.getTestsFailedCount() + " failed");
        }
    }

    @Test
    void parallelismsHaveTheParametersOfOneRankInDeviceMemory() throws Exception {
        String pairs = "io.jrun.train.CompositionTest";
        String printed = SimulatedCuda.start(
                        folder,
                        OnDevices.class,
                        Map.of("SIMCUDA_INLINE", "1", "SIMCUDA_DEVICES", "8", "SIMCUDA_MEMORY", "4294967296"),
                        pairs + "#hasTheNormsAndParametersOfOneRank(" + pairs + "$Data," + pairs + "$Shared)",
                        "io.jrun.train.pipeline.PipelineEqualityTest",
                        "io.jrun.train.expert.ExpertParallelTest",
                        "io.jrun.train.fsdp.FsdpEqualityTest",
                        "io.jrun.train.tensorparallel.TensorParallelTest")
                .join();
        assertThat(printed).containsPattern("[5-9]\\d succeeded, 0 failed");
    }
}
