/**
 * Turns a command line, a job file and the environment into a {@code JobSpec}, or into one line that
 * says what is wrong. Entry class: {@code JobRequest}; {@code LaunchOption} is the
 * table all of it is made from.
 */
@NullMarked
package io.jrun.launcher.cli;

import org.jspecify.annotations.NullMarked;
