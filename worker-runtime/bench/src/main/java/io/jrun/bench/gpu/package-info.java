/**
 * The program of {@code scripts/gpu-check}: checks the parts of jrun that need a GPU, on one machine. Entry class:
 * {@code GpuCheck}. {@code GpuPairs} measures NCCL for {@code jrun doctor}.
 */
@NullMarked
package io.jrun.bench.gpu;

import org.jspecify.annotations.NullMarked;
