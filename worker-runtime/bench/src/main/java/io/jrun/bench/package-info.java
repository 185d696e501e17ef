/**
 * The benchmarks a user can run with {@code jrun bench}: collectives and DDP training beside libtorch's own Gloo, in
 * one run and interleaved, so that ratios hold on a noisy machine. Entry class: {@code BenchMain}.
 */
@NullMarked
package io.jrun.bench;

import org.jspecify.annotations.NullMarked;
