/**
 * {@code jrun bench allreduce} and the other operations, in the form of nccl-tests. A size is the larger of a rank's
 * input and output. A bus bandwidth is the rate on the slowest link (the factors are in nccl-tests' PERFORMANCE.md).
 * Entry class: {@code CollectiveBench}. Each operation has one class. {@code Measurement} measures all operations.
 */
@NullMarked
package io.jrun.bench.collective;

import org.jspecify.annotations.NullMarked;
