/**
 * Tells people and machines what became of a job. Entry class: {@code FailureReport}.
 */
@NullMarked
package io.jrun.launcher.report;

import org.jspecify.annotations.NullMarked;
