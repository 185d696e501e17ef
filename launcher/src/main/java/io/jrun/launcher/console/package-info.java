/**
 * The user's view of the workers' output: whole lines, prefixed with rank and host. Entry class:
 * {@link io.jrun.launcher.console.LogMux}.
 */
@NullMarked
package io.jrun.launcher.console;

import org.jspecify.annotations.NullMarked;
