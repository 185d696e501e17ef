/**
 * {@code jrun bench allreduce} and its kin, in the form that users of nccl-tests know: a size is the larger of a rank's input
 * and output, a bus bandwidth what the operation moves over the slowest link (the factors of nccl-tests' PERFORMANCE.md). Entry
 * class: {@code CollectiveBench}; one class per operation, all measured by
 * {@code Measurement}.
 */
@NullMarked
package io.jrun.bench.collective;

import org.jspecify.annotations.NullMarked;
