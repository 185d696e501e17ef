/**
 * The facts of one job, read from its log folder while it runs or later: events, metrics as columns of steps, the
 * output of the workers, and their timelines. {@code jrun dashboard}, {@code top}, {@code report} and {@code trace}
 * read jobs through this package alone. Entry class: {@link io.jrun.launcher.view.JobView}.
 */
@NullMarked
package io.jrun.launcher.view;

import org.jspecify.annotations.NullMarked;
