/**
 * The program of {@code scripts/gpu-check}: what needs a GPU, checked on one machine. Entry class: {@code GpuCheck}.
 */
@NullMarked
package io.jrun.bench.gpu;

import org.jspecify.annotations.NullMarked;
