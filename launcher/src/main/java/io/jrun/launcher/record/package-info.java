/**
 * The record of a job on disk, one event a line, which its launcher writes and which stays after the end, and the
 * control socket on which other commands reach the launcher while the job runs. Entry classes: {@code JobRecorder},
 * {@code JobRecordReader}, {@link io.jrun.launcher.record.JobIndex} and {@code JobControlServer}.
 */
@NullMarked
package io.jrun.launcher.record;

import org.jspecify.annotations.NullMarked;
