/**
 * The files that a job's workers need, as this machine has them, and their way to agents that lack some. Entry:
 * {@code JobFiles}.
 */
@NullMarked
package io.jrun.launcher.files;

import org.jspecify.annotations.NullMarked;
