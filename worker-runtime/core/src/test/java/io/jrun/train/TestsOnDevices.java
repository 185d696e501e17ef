package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.tensor.SimulatedPlacement;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Tests whose ranks are threads, run in a JVM in which the tensors of each rank are in the memory of a simulated GPU. To
 * read the memory by its address ends the JVM. The module has jrun-backends on its class path: the ranks use NCCL,
 * because jrun's own plane for devices needs streams, and here libtorch computes without streams.
 */
public final class TestsOnDevices {
    private TestsOnDevices() {}

    /**
     * Runs tests. Fails if a test fails, or if there are fewer tests.
     *
     * @param folder for the output of the JVM
     * @param least the least number of tests
     * @param tests names of classes, or of methods as {@code CLASS#METHOD(PARAMETER,...)}
     */
    public static void run(Path folder, int least, String... tests) throws Exception {
        String printed = SimulatedCuda.start(
                        folder,
                        TestsOnDevices.class,
                        Map.of("SIMCUDA_INLINE", "1", "SIMCUDA_DEVICES", "16", "SIMCUDA_MEMORY", "8589934592"),
                        tests)
                .join();
        String summary = printed.substring(printed.lastIndexOf("succeeded: "));
        assertThat(summary).as(printed).endsWith("failed: 0\n");
        assertThat(Integer.parseInt(summary.replaceAll("\\D*(\\d+)[^$]*", "$1")))
                .isGreaterThanOrEqualTo(least);
    }

    /** Entry point. The arguments are the tests. */
    public static void main(String[] tests) {
        Libtorch.setThreads(1); // loads jrun's libtorch, before a class of a test loads another
        SimulatedPlacement.installForRanks();
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(Arrays.stream(tests)
                        .map(name -> name.contains("#") ? selectMethod(name) : selectClass(name))
                        .toList())
                .build();
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        LauncherFactory.create().execute(request, listener);
        TestExecutionSummary summary = listener.getSummary();
        summary.getFailures().forEach(failure -> {
            System.out.println(failure.getTestIdentifier().getUniqueId());
            failure.getException().printStackTrace(System.out);
        });
        System.out.println(
                "succeeded: " + summary.getTestsSucceededCount() + ", failed: " + summary.getTestsFailedCount());
    }
}
