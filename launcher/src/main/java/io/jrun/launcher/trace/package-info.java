/**
 * {@code jrun trace}: the timelines of all ranks as one trace for Perfetto and chrome://tracing. Entry class: {@link
 * io.jrun.launcher.trace.TraceCommand}.
 */
@NullMarked
package io.jrun.launcher.trace;

import org.jspecify.annotations.NullMarked;
