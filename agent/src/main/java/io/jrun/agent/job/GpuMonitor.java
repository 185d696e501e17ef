package io.jrun.agent.job;

import io.jrun.agent.nvml.BoundedNvml;
import io.jrun.agent.nvml.NvmlException;
import io.jrun.agent.nvml.NvmlReading;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.GpuReading;
import io.jrun.agent.proto.GpuReport;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Reports the load of a job's GPUs on this node to the coordinator, at once and then every 5 s. After the first failure
 * of NVML it sends one notice and stops. On a node without NVIDIA's driver it does nothing. A thread of its own waits for
 * the driver. Thread-safe.
 */
final class GpuMonitor implements AutoCloseable {
    private static final long PERIOD_SECONDS = 5;

    private final List<String> gpus;
    private final String host;
    private final ResponseStream<ControlResponse> out;
    private final UserNotices notices;
    private final Optional<BoundedNvml> nvml;
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(
            task -> Thread.ofPlatform().daemon().name("jrun-gpus").unstarted(task));

    /**
     * A monitor that has not started.
     *
     * @param gpus as in CUDA_VISIBLE_DEVICES
     * @param host the name of this node
     */
    GpuMonitor(List<String> gpus, String host, ResponseStream<ControlResponse> out, UserNotices notices) {
        this.gpus = List.copyOf(gpus);
        this.host = host;
        this.out = out;
        this.notices = notices;
        this.nvml = gpus.isEmpty() ? Optional.empty() : BoundedNvml.here();
    }

    void start() {
        nvml.ifPresent(open -> {
            var _ = thread.scheduleWithFixedDelay(() -> report(open), 0, PERIOD_SECONDS, TimeUnit.SECONDS);
        });
    }

    private void report(BoundedNvml open) {
        try {
            GpuReport.Builder report = GpuReport.newBuilder();
            open.read(gpus).forEach(reading -> report.addGpus(message(reading)));
            out.send(ControlResponse.newBuilder().setGpus(report).build());
        } catch (NvmlException e) {
            if (!thread.isShutdown()) {
                notices.accept("no metrics of the GPUs on " + host + ": NVML: " + e.getMessage());
            }
            thread.shutdown();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static GpuReading message(NvmlReading reading) {
        return GpuReading.newBuilder()
                .setDevice(reading.entry())
                .setName(reading.name())
                .setMemoryUsedBytes(reading.memoryUsedBytes())
                .setMemoryTotalBytes(reading.memoryTotalBytes())
                .setUtilizationPercent(reading.utilizationPercent())
                .setTemperatureCelsius(reading.temperatureCelsius())
                .setPowerMilliwatts(reading.powerMilliwatts())
                .build();
    }

    @Override
    public void close() {
        thread.shutdownNow();
        nvml.ifPresent(BoundedNvml::close);
    }
}
