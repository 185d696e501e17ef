/**
 * The one reducer of gradients. Hooks say that a gradient is ready, complete buckets are reduced in one order while the
 * backward pass runs, and the step waits once at its end. A placement says which means a rank keeps; a communication
 * hook is the exchange of a bucket. Data parallelism, stages 1 and 2 of ZeRO and the replicas of pipeline stages are
 * settings of the reducer. Entry classes: {@code GradientReducer}, {@code StageReducer}.
 */
@NullMarked
package io.jrun.train.reducer;

import org.jspecify.annotations.NullMarked;
