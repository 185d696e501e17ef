package io.jrun.train.optim;

import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The numbers of an update of some ranges of parameters.
 *
 * @param before earlier steps of the ranges
 * @param counts for each range the number of its steps, this step included: a float32 tensor of one element on the
 *     device of the ranges; null if {@code before} decides
 * @param skip a float32 tensor of one element on the device of the ranges: 1 makes the update change nothing; null for
 *     an update in any case
 */
record UpdateStep(
        long before,
        @Nullable List<Tensor> counts,
        double learningRate,
        double weightDecay,
        @Nullable Tensor skip) {}
