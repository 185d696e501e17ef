/**
 * What is known of a job besides its logs: a record on disk, kept by its launcher and readable after the end, and a desk at
 * which other commands reach the launcher while it runs. Entry classes: {@code JobRecorder}, {@link
 * io.jrun.launcher.record.JobIndex} and {@code JobControlServer}.
 */
@NullMarked
package io.jrun.launcher.record;

import org.jspecify.annotations.NullMarked;
