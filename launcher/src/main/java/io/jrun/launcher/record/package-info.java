/**
 * The record of a job on disk, with one event on each line. The launcher writes the record, and the record stays after
 * the end of the job. Also the control socket: other commands reach the launcher through it while the job runs. Entry
 * classes: {@code JobRecorder}, {@code JobRecordReader}, {@link io.jrun.launcher.record.JobIndex} and
 * {@code JobControlServer}.
 */
@NullMarked
package io.jrun.launcher.record;

import org.jspecify.annotations.NullMarked;
