/**
 * Reports the result of a job to users and programs. Entry class: {@code FailureReport}.
 */
@NullMarked
package io.jrun.launcher.report;

import org.jspecify.annotations.NullMarked;
