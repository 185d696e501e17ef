/**
 * The user's view of the workers' output: whole lines, prefixed with rank and host. Entry class:
 * {@code LogMultiplexer}.
 */
@NullMarked
package io.jrun.launcher.console;

import org.jspecify.annotations.NullMarked;
