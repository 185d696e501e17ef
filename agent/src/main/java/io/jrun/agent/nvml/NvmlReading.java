package io.jrun.agent.nvml;

/**
 * The present load of a GPU or of a MIG slice. A value that the GPU does not report is -1: a slice reports only memory.
 *
 * @param entry the GPU as in CUDA_VISIBLE_DEVICES
 * @param memoryUsedBytes {@code memoryTotalBytes} has the same unit
 * @param utilizationPercent part of the last sampling period in which a kernel ran
 * @param powerMilliwatts the mean of the last second, on newer GPUs
 */
public record NvmlReading(
        String entry,
        String name,
        long memoryUsedBytes,
        long memoryTotalBytes,
        int utilizationPercent,
        int temperatureCelsius,
        int powerMilliwatts) {}
