/**
 * Shows the output of the workers to the user, in whole lines with rank and host. Entry class:
 * {@code LogMultiplexer}.
 */
@NullMarked
package io.jrun.launcher.console;

import org.jspecify.annotations.NullMarked;
