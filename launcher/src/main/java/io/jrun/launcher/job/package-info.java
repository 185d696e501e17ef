/**
 * What a job is: its program, its workers, its output, how it ends. Values without behaviour towards the outside, made by
 * {@code io.jrun.launcher.cli}. Entry class: {@code JobSpec}.
 */
@NullMarked
package io.jrun.launcher.job;

import org.jspecify.annotations.NullMarked;
