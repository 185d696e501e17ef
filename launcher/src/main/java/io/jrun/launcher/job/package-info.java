/**
 * The description of a job: program, workers, output, end. All types are values without side effects. {@code
 * io.jrun.launcher.cli} makes them. Entry class: {@code JobSpec}.
 */
@NullMarked
package io.jrun.launcher.job;

import org.jspecify.annotations.NullMarked;
