/**
 * Reads NVIDIA's management library (NVML), which the driver of a GPU brings: names, memory, load and links of the GPUs
 * of this machine. Entry class: {@code Nvml}.
 */
@NullMarked
package io.jrun.agent.nvml;

import org.jspecify.annotations.NullMarked;
