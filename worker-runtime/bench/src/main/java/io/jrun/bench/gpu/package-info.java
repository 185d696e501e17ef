/**
 * The program of {@code scripts/gpu-check}: checks the parts of jrun that need a GPU, on one machine. Entry class:
 * {@code GpuCheck}.
 */
@NullMarked
package io.jrun.bench.gpu;

import org.jspecify.annotations.NullMarked;
