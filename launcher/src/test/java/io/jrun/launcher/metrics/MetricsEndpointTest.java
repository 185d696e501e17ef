package io.jrun.launcher.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.event.GpuLoad;
import io.jrun.launcher.event.JobEvent.GpusReported;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.JobEvent.NodeLost;
import io.jrun.launcher.event.JobEvent.RoundStarted;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MetricsEndpointTest {
    private static final InetSocketAddress FREE_PORT = InetSocketAddress.createUnresolved("127.0.0.1", 0);

    private static HttpResponse<String> get(String url) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                    HttpRequest.newBuilder(URI.create(url))
                            .timeout(Duration.ofSeconds(30))
                            .build(),
                    BodyHandlers.ofString());
        }
    }

    @Test
    void servesTheLatestValuesOfTheRound() throws IOException, InterruptedException {
        try (MetricsEndpoint endpoint = MetricsEndpoint.open(FREE_PORT, "job-1")) {
            endpoint.on(0, new RoundStarted(1, 0, List.of()));
            endpoint.on(0, new MetricReported(1, 1, 3, Map.of("loss", 3.5)));
            endpoint.on(0, new RoundStarted(2, 1, List.of()));
            endpoint.on(0, new MetricReported(2, 0, 4, Map.of("loss", 2.5, "val/top-1", Double.NaN)));
            endpoint.on(0, new MetricReported(2, 0, 5, Map.of("loss", 2.25)));
            HttpResponse<String> response = get(endpoint.url());
            assertThat(response.headers().firstValue("Content-Type"))
                    .contains("application/openmetrics-text; version=1.0.0; charset=utf-8");
            assertThat(response.body()).isEqualTo("""
                    # TYPE jrun_job_restarts gauge
                    # HELP jrun_job_restarts Restarts after a failure.
                    jrun_job_restarts{run="job-1"} 1.0
                    # TYPE jrun_job_round gauge
                    # HELP jrun_job_round The round of the job, from 1.
                    jrun_job_round{run="job-1"} 2.0
                    # TYPE jrun_training_loss gauge
                    jrun_training_loss{rank="0",run="job-1"} 2.25
                    # TYPE jrun_training_step gauge
                    jrun_training_step{rank="0",run="job-1"} 5.0
                    # TYPE jrun_training_val_top_1 gauge
                    jrun_training_val_top_1{rank="0",run="job-1"} NaN
                    # EOF
                    """);
            assertThat(get(endpoint.url() + "/other").statusCode()).isEqualTo(404);
        }
    }

    @Test
    void servesTheLoadOfTheGpusWithoutTheValuesThatAGpuLacks() throws IOException, InterruptedException {
        try (MetricsEndpoint endpoint = MetricsEndpoint.open(FREE_PORT, "job-1")) {
            GpuLoad whole =
                    new GpuLoad("0", "H100", Map.of(GpuLoad.UTILIZATION_PERCENT, 50.0, GpuLoad.MEMORY_USED_BYTES, 3e9));
            GpuLoad slice = new GpuLoad("MIG-1", "H100", Map.of(GpuLoad.MEMORY_USED_BYTES, 1e9));
            endpoint.on(0, new GpusReported(0, "n1", List.of(whole)));
            endpoint.on(0, new GpusReported(1, "n2", List.of(slice)));
            assertThat(get(endpoint.url()).body())
                    .contains(
                            "jrun_gpu_utilization_ratio{gpu=\"0\",host=\"n1\",name=\"H100\",run=\"job-1\"} 0.5\n",
                            "jrun_gpu_memory_used_bytes{gpu=\"0\",host=\"n1\",name=\"H100\",run=\"job-1\"} 3.0E9\n",
                            "jrun_gpu_memory_used_bytes{gpu=\"MIG-1\",host=\"n2\",name=\"H100\",run=\"job-1\"} 1.0E9\n")
                    .doesNotContain("jrun_gpu_power", "jrun_gpu_utilization_ratio{gpu=\"MIG-1\"");
            endpoint.on(0, new NodeLost(1, "n2", "down"));
            assertThat(get(endpoint.url()).body()).doesNotContain("MIG-1");
        }
    }

    @Test
    void aClientThatSendsHalfARequestDelaysNoOther() throws IOException, InterruptedException {
        try (MetricsEndpoint endpoint = MetricsEndpoint.open(FREE_PORT, "job-1");
                Socket half = new Socket(
                        InetAddress.getLoopbackAddress(),
                        URI.create(endpoint.url()).getPort())) {
            half.getOutputStream().write("GET /met".getBytes(StandardCharsets.US_ASCII));
            half.getOutputStream().flush();
            for (int request = 0; request < 3; request++) {
                assertThat(get(endpoint.url()).statusCode()).isEqualTo(200);
            }
        }
    }

    @Test
    void aPortThatIsTakenIsAUsageError() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            InetSocketAddress address = InetSocketAddress.createUnresolved("127.0.0.1", taken.getLocalPort());
            assertThatThrownBy(() -> MetricsEndpoint.open(address, "job-1"))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("cannot listen at 127.0.0.1:" + taken.getLocalPort());
        }
    }
}
