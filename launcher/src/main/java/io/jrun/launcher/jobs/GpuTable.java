package io.jrun.launcher.jobs;

import io.jrun.launcher.event.GpuLoad;
import io.jrun.launcher.event.JobEvent.GpusReported;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The load of the GPUs of a job as a table, for {@code jrun describe}. Stateless. */
final class GpuTable {
    private static final double GIBIBYTE = 1 << 30;
    private static final String UNKNOWN = "-";

    private GpuTable() {}

    /** A line of headings and one line for each GPU, as last reported. */
    static List<String> lines(List<GpusReported> nodes) {
        int hosts = nodes.stream().mapToInt(node -> node.host().length()).reduce("HOST".length(), Math::max);
        int devices = nodes.stream()
                .flatMap(node -> node.gpus().stream())
                .mapToInt(gpu -> gpu.device().length())
                .reduce("GPU".length(), Math::max);
        String format = "%-" + hosts + "s  %-" + devices + "s  %5s  %15s  %5s  %6s  %s";
        List<String> lines = new ArrayList<>();
        lines.add(format.formatted("HOST", "GPU", "LOAD", "MEMORY", "TEMP", "POWER", "NAME"));
        for (GpusReported node : nodes) {
            for (GpuLoad gpu : node.gpus()) {
                lines.add(format.formatted(
                        node.host(),
                        gpu.device(),
                        text(gpu, GpuLoad.UTILIZATION_PERCENT, "%.0f %%"),
                        memory(gpu),
                        text(gpu, GpuLoad.TEMPERATURE_CELSIUS, "%.0f C"),
                        text(gpu, GpuLoad.POWER_WATTS, "%.0f W"),
                        gpu.name()));
            }
        }
        return lines;
    }

    private static String memory(GpuLoad gpu) {
        Double used = gpu.values().get(GpuLoad.MEMORY_USED_BYTES);
        Double total = gpu.values().get(GpuLoad.MEMORY_TOTAL_BYTES);
        return used == null || total == null
                ? UNKNOWN
                : String.format(Locale.ROOT, "%.1f/%.1f GiB", used / GIBIBYTE, total / GIBIBYTE);
    }

    private static String text(GpuLoad gpu, String name, String format) {
        Double value = gpu.values().get(name);
        return value == null ? UNKNOWN : String.format(Locale.ROOT, format, value);
    }
}
