/**
 * jrun's own process: how it starts, the signals it takes and how it ends. Entry classes: {@link
 * io.jrun.launcher.process.Prewarm}, {@code SignalHandlers} and {@link
 * io.jrun.launcher.process.FastExit}.
 */
@NullMarked
package io.jrun.launcher.process;

import org.jspecify.annotations.NullMarked;
