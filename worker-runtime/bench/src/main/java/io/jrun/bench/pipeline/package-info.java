/** Measures the idle time of pipeline schedules. */
@NullMarked
package io.jrun.bench.pipeline;

import org.jspecify.annotations.NullMarked;
