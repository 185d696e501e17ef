package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.GpuReading;
import io.jrun.agent.proto.GpuReport;
import io.jrun.launcher.event.GpuLoad;
import io.jrun.launcher.event.JobEvent;
import java.util.LinkedHashMap;
import java.util.Map;

/** Makes events of the reports of agents about their GPUs. Stateless. */
final class GpuEvents {
    private static final double MILLIWATTS = 1000;

    private GpuEvents() {}

    static JobEvent of(int node, String host, GpuReport report) {
        return new JobEvent.GpusReported(
                node, host, report.getGpusList().stream().map(GpuEvents::load).toList());
    }

    private static GpuLoad load(GpuReading reading) {
        Map<String, Double> values = new LinkedHashMap<>();
        put(values, GpuLoad.UTILIZATION_PERCENT, reading.getUtilizationPercent(), 1);
        put(values, GpuLoad.MEMORY_USED_BYTES, reading.getMemoryUsedBytes(), 1);
        put(values, GpuLoad.MEMORY_TOTAL_BYTES, reading.getMemoryTotalBytes(), 1);
        put(values, GpuLoad.TEMPERATURE_CELSIUS, reading.getTemperatureCelsius(), 1);
        put(values, GpuLoad.POWER_WATTS, reading.getPowerMilliwatts(), MILLIWATTS);
        return new GpuLoad(reading.getDevice(), reading.getName(), values);
    }

    private static void put(Map<String, Double> values, String name, long value, double divisor) {
        if (value >= 0) { // the GPU reports this value
            values.put(name, value / divisor);
        }
    }
}
