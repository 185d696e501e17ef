/**
 * The start, the signals and the end of jrun's own process. Entry classes: {@link io.jrun.launcher.process.Prewarm},
 * {@code SignalHandlers} and {@link io.jrun.launcher.process.FastExit}.
 */
@NullMarked
package io.jrun.launcher.process;

import org.jspecify.annotations.NullMarked;
