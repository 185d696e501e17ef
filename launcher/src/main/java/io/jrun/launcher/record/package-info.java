/**
 * What is known of a job besides its logs: a record on disk, kept by its launcher and readable after the end, and a desk at
 * which other commands reach the launcher while it runs. Entry classes: {@link io.jrun.launcher.record.Recorder}, {@link
 * io.jrun.launcher.record.JobIndex} and {@link io.jrun.launcher.record.Desk}.
 */
@NullMarked
package io.jrun.launcher.record;

import org.jspecify.annotations.NullMarked;
