/**
 * Turns a command line, a job file and the environment into a {@link io.jrun.launcher.job.JobSpec}, or into one line that
 * says what is wrong. Entry class: {@link io.jrun.launcher.cli.JobRequest}; {@link io.jrun.launcher.cli.LaunchOption} is the
 * table all of it is made from.
 */
@NullMarked
package io.jrun.launcher.cli;

import org.jspecify.annotations.NullMarked;
