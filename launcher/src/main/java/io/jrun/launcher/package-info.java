/**
 * The {@code jrun} command: reads the command line, places ranks on nodes, and runs the job. Entry class: {@link
 * io.jrun.launcher.JRunCommand}.
 */
@NullMarked
package io.jrun.launcher;

import org.jspecify.annotations.NullMarked;
