package io.jrun.launcher.event;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The load of one GPU or MIG slice.
 *
 * @param device as in CUDA_VISIBLE_DEVICES of its node
 * @param name such as {@code NVIDIA H100 80GB HBM3}
 * @param values by {@link #UTILIZATION_PERCENT} and the other names; a value that the GPU does not report is left out
 */
public record GpuLoad(String device, String name, Map<String, Double> values) {
    /** The part of the last sampling period in which a kernel ran. */
    public static final String UTILIZATION_PERCENT = "utilizationPercent";

    /** The memory that processes have allocated, with the driver's own. */
    public static final String MEMORY_USED_BYTES = "memoryUsedBytes";

    /** The memory of the GPU. */
    public static final String MEMORY_TOTAL_BYTES = "memoryTotalBytes";

    /** The temperature of the chip. */
    public static final String TEMPERATURE_CELSIUS = "temperatureCelsius";

    /** The power of the whole board. */
    public static final String POWER_WATTS = "powerWatts";

    public GpuLoad {
        values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    }
}
