package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.tensor.SimulatedPlacement;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/**
 * Tests whose ranks are threads, run in a JVM in which the tensors of each rank are in the memory of a simulated GPU. To
 * read the memory by its address ends the JVM. Collectives run as late as the order of the streams allows: only while a
 * rank waits on its stream for one. Each test so shows three things about the work that it runs. No rank reads a result
 * before its stream has waited for it. No rank frees memory while a collective uses it. The host waits for no collective:
 * such a wait would not end. The module has jrun-backends on its class path: the ranks use NCCL.
 */
public final class TestsOnDevices {
    /** The settings of {@code scripts/testbed/cuda} for such a JVM, with a device for each of up to 16 ranks. */
    public static final Map<String, String> SETTINGS = Map.of(
            "SIMCUDA_LATE", "1", "SIMCUDA_COPY_MICROS", "200", "SIMCUDA_DEVICES", "16", "SIMCUDA_MEMORY", "8589934592");

    private TestsOnDevices() {}

    /**
     * Runs tests. Fails if a test fails, or if there are fewer tests.
     *
     * @param folder for the output of the JVM
     * @param least the least number of tests
     * @param tests names of classes, or of methods as {@code CLASS#METHOD(PARAMETER,...)}
     */
    public static void run(Path folder, int least, String... tests) throws Exception {
        String printed = SimulatedCuda.start(folder, TestsOnDevices.class, SETTINGS, tests)
                .join();
        String summary = printed.substring(printed.lastIndexOf("succeeded: "));
        assertThat(Integer.parseInt(summary.replaceAll("\\D", ""))).as(printed).isGreaterThanOrEqualTo(least);
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
        LauncherFactory.create().execute(request, listener, new EndAtFailure());
        System.out.println("succeeded: " + listener.getSummary().getTestsSucceededCount());
    }

    /** Ends the JVM at the first failure: a host that waits for a collective costs the time of a deadline in each test. */
    private static final class EndAtFailure implements TestExecutionListener {
        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (result.getStatus() == TestExecutionResult.Status.FAILED) {
                System.out.println(test.getUniqueId());
                result.getThrowable().ifPresent(failure -> failure.printStackTrace(System.out));
                System.out.flush();
                Runtime.getRuntime().halt(1);
            }
        }
    }
}
