/**
 * The {@code jrun} command: reads what is wanted, lays ranks out on nodes, and sees the job through. Entry class: {@link
 * io.jrun.launcher.JRunCommand}.
 */
@NullMarked
package io.jrun.launcher;

import org.jspecify.annotations.NullMarked;
