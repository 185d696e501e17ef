package io.jrun.agent.nvml;

import java.util.List;

/**
 * A GPU as NVML describes it. NVML counts the GPUs that this process may open, by bus address.
 *
 * @param name such as {@code NVIDIA H100 80GB HBM3}
 * @param busId PCI address in the form of /sys, such as {@code 0000:1b:00.0}; empty if unknown
 * @param memoryBytes of the whole GPU; -1 if unknown
 * @param persistence {@code on}, {@code off}, or empty if unknown
 * @param mig {@code on} or {@code off}; empty if the GPU has no MIG
 * @param slices the names of its MIG slices, as in CUDA_VISIBLE_DEVICES
 */
public record NvmlGpu(
        int index,
        String name,
        String uuid,
        String busId,
        long memoryBytes,
        String persistence,
        String mig,
        List<String> slices) {
    public NvmlGpu {
        slices = List.copyOf(slices);
    }
}
