/**
 * Tells people and machines what became of a job. Entry class: {@link io.jrun.launcher.report.FailureReport}.
 */
@NullMarked
package io.jrun.launcher.report;

import org.jspecify.annotations.NullMarked;
